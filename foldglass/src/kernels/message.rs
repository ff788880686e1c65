//! Makes the message a step sends from what it has computed, and spreads the one returned (paper,
//! App. A): sums over places that follow no simple pattern, listed one by one.

/// Elements of a message, each a weighted sum over the symbol that leaves the window:
/// `to[i]` = sum over d < count of `weights[i * count + d] * from[places[i] + d * stride]`, flushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collect {
    places: Vec<u32>,
    /// The symbol summed away: how many values it has, and how far apart they lie.
    dropped: Dropped,
    /// How many entries are read.
    reach: usize,
}

/// The values of a symbol that is summed away: how many, and how far apart they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub count: usize,
    pub stride: usize,
}

impl Collect {
    pub fn new(places: Vec<u32>, dropped: Dropped) -> Collect {
        let furthest = places
            .iter()
            .copied()
            .max()
            .expect("a message has elements") as u128;
        let furthest = furthest + (dropped.count as u128 - 1) * dropped.stride as u128;
        Collect {
            reach: usize::try_from(furthest + 1).expect("places within the address space"),
            places,
            dropped,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Where the terms of each element lie, one element behind the other.
    pub fn terms(&self) -> impl Iterator<Item = usize> {
        let Dropped { count, stride } = self.dropped;
        let places = self.places.iter();
        places.flat_map(move |&place| (0..count).map(move |d| place as usize + d * stride))
    }

    /// Makes a message of a row; sums below `least` become zero.
    #[inline]
    pub fn run(&self, weights: &[f64], from: &[f64], to: &mut [f64], least: f64) {
        assert!(self.reach <= from.len(), "a row of {} entries", from.len());
        let Dropped { count, stride } = self.dropped;
        let terms = self.places.iter().zip(weights.chunks_exact(count));
        for (to, (&place, weights)) in to.iter_mut().zip(terms) {
            // SAFETY: d < count, so this is below `reach`, which is at most the length.
            let at = |d: usize| unsafe { *from.get_unchecked(place as usize + d * stride) };
            let mut sum = at(0) * weights[0];
            for (d, weight) in weights.iter().enumerate().skip(1) {
                sum += at(d) * weight;
            }
            *to = if sum < least { 0.0 } else { sum };
        }
    }
}

/// Where an element of a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub element: u32,
    pub to: u32,
}

/// Copies of a message's elements, each times a weight:
/// `to[routes[i].to] = weights[i] * message[routes[i].element]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spread {
    routes: Vec<Route>,
    /// How many elements are read, and how many entries written.
    elements: usize,
    reach: usize,
}

impl Spread {
    pub fn new(routes: Vec<Route>) -> Spread {
        let ends = |n: Option<u32>| n.map_or(0, |furthest| furthest as usize + 1);
        Spread {
            elements: ends(routes.iter().map(|route| route.element).max()),
            reach: ends(routes.iter().map(|route| route.to).max()),
            routes,
        }
    }

    /// Where the elements go.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Spreads a message.
    #[inline]
    pub fn run(&self, weights: &[f64], message: &[f64], to: &mut [f64]) {
        assert!(
            self.elements <= message.len() && self.reach <= to.len(),
            "{} elements, {} entries",
            message.len(),
            to.len()
        );
        for (&Route { element, to: place }, weight) in self.routes.iter().zip(weights) {
            // SAFETY: the lengths checked are beyond every route.
            unsafe {
                let value = *message.get_unchecked(element as usize) * weight;
                *to.get_unchecked_mut(place as usize) = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_the_weighted_sum_of_its_places() {
        let dropped = Dropped {
            count: 2,
            stride: 3,
        };
        let collect = Collect::new(vec![1, 0, 2], dropped);
        assert!(collect.terms().eq([1, 4, 0, 3, 2, 5]));
        let from = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let weights = [1.0, 0.5, 0.25, 0.0, 0.5, 1.0];
        let mut message = [f64::NAN; 3];
        collect.run(&weights, &from, &mut message, 1.0);
        assert_eq!(message, [10.0, 0.0, 34.0], "a quarter is below the least");
    }

    #[test]
    fn an_element_returned_goes_to_all_its_places() {
        let route = |element: u32, to: u32| Route { element, to };
        let spread = Spread::new(vec![route(0, 3), route(1, 0), route(0, 1)]);
        let mut to = [9.0; 4];
        spread.run(&[1.0, 2.0, 0.5], &[8.0, 3.0], &mut to);
        assert_eq!(to, [6.0, 4.0, 9.0, 8.0]);
    }

    #[test]
    #[should_panic(expected = "a row of 5 entries")]
    fn a_row_one_entry_short_is_refused() {
        let dropped = Dropped {
            count: 2,
            stride: 3,
        };
        let collect = Collect::new(vec![1, 2], dropped);
        collect.run(&[1.0; 4], &[0.0; 5], &mut [0.0; 2], 0.0);
    }

    #[test]
    #[should_panic(expected = "1 elements, 4 entries")]
    fn a_message_one_element_short_is_refused() {
        let route = |element: u32, to: u32| Route { element, to };
        let spread = Spread::new(vec![route(0, 3), route(1, 0)]);
        spread.run(&[1.0; 2], &[0.0; 1], &mut [0.0; 4]);
    }
}
