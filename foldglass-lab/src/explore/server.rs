//! Listens on this machine alone, and lets no client take more than its share of bytes, time or threads.

use std::convert::Infallible;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::api::{self, Ask};
use super::explorer::{End, Explorer, Seat};
use super::guard::Place;
use super::limits;
use super::refusal::Refusal;
use super::reply::{self, Reply};
use crate::error::Error;
use crate::progress::{Terminal, interrupted};

/// How often it is asked whether to end.
const TICK: Duration = Duration::from_millis(100);

/// Answers pages until Ctrl-C, or until none is open any more.
pub fn serve(listener: StdListener, explorer: Arc<Explorer>) -> Result<End, Error> {
    // From now on Ctrl-C is heard.
    let _terminal = Terminal::new();
    let failed = |error: std::io::Error| Error::Failed(format!("the server cannot begin: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(limits::THREADS)
        .build()
        .map_err(failed)?;
    let end = runtime.block_on(async {
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        tokio::spawn(accept(listener, explorer.clone()));
        loop {
            sleep(TICK).await;
            if interrupted() {
                return Ok(End::Interrupted);
            }
            if let Some(end) = explorer.tidy() {
                return Ok(end);
            }
        }
    });
    explorer.close();
    runtime.shutdown_timeout(Duration::from_secs(2));
    end
}

async fn accept(listener: TcpListener, explorer: Arc<Explorer>) {
    let connections = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: some will be closed soon.
            sleep(TICK).await;
            continue;
        };
        match Seat::take(&connections, limits::CONNECTIONS) {
            Some(seat) => drop(tokio::spawn(converse(stream, explorer.clone(), seat))),
            None => drop(tokio::spawn(timeout(TICK, turn_away(stream)))),
        }
    }
}

/// Says that there are too many connections.
async fn turn_away(stream: TcpStream) {
    const FULL: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    if stream.writable().await.is_ok() {
        let _ = stream.try_write(FULL);
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, explorer: Arc<Explorer>, _seat: Seat) {
    let _ = stream.set_nodelay(true);
    let reading = explorer.times.reading;
    let service = service_fn(move |request| answer(request, explorer.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reading)
        .max_headers(limits::HEADERS)
        .max_buf_size(limits::HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    if timeout(limits::CONNECTED, connection.as_mut())
        .await
        .is_err()
    {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(limits::PARTING, connection).await;
    }
}

async fn answer(request: Request<Incoming>, explorer: Arc<Explorer>) -> Result<Reply, Infallible> {
    let place = explorer
        .guard
        .admit(request.method(), request.uri(), request.headers());
    Ok(match place {
        // Whoever does not have the address keeps no connection either.
        Err(status) => reply::parting(status),
        Ok(Place::File(file)) => reply::file(file),
        Ok(Place::Api(name)) => match ask(name, request, explorer).await {
            Ok(content) => reply::json(content),
            Err(refusal) => reply::refusal(&refusal),
        },
    })
}

/// Tells the thread that computes an answer when nobody waits for it any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn ask(
    name: String,
    request: Request<Incoming>,
    explorer: Arc<Explorer>,
) -> Result<Vec<u8>, Refusal> {
    let page = page(request.headers())?;
    let body = body(request, explorer.times.reading).await?;
    if let Some(page) = &page {
        explorer.hear(page);
    }
    let page = page.unwrap_or_default();
    if api::is_short(&name) {
        let deadline = explorer.deadline(Arc::default());
        let ask = Ask {
            explorer: &explorer,
            page: &page,
            deadline,
        };
        return api::answer(&ask, &name, &body);
    }
    let seat = explorer.seat()?;
    let long_seat = api::is_long(&name)
        .then(|| explorer.long_seat())
        .transpose()?;
    let waiting = Waiting(Arc::default());
    let deadline = explorer.deadline(waiting.0.clone());
    if long_seat.is_some() {
        explorer.begin_work(&page, &name, deadline.heard());
    }
    let computed = tokio::task::spawn_blocking(move || {
        let _seats = (seat, long_seat);
        let ask = Ask {
            explorer: &explorer,
            page: &page,
            deadline,
        };
        api::answer(&ask, &name, &body)
    });
    // A panic is a mistake of this program; it ends this request and nothing else.
    let failed = |_| {
        Refusal::new(
            500,
            "the computation failed: this is a mistake in foldglass",
        )
    };
    computed.await.unwrap_or_else(|error| Err(failed(error)))
}

/// The page that asks, by its own name for itself.
fn page(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(page) = headers.get("x-page") else {
        return Ok(None);
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let page = page.to_str().ok();
    let page = page.filter(|p| (1..=64).contains(&p.len()) && p.chars().all(plain));
    match page {
        Some(page) => Ok(Some(page.to_owned())),
        None => Err(Refusal::new(
            400,
            "X-Page: a name of 1 to 64 letters and digits is needed",
        )),
    }
}

/// Reads the body of a request, not too long and not for too long.
async fn body(request: Request<Incoming>, time: Duration) -> Result<Bytes, Refusal> {
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or("").trim());
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(Refusal::new(
            415,
            "Content-Type: application/json is needed",
        ));
    }
    let too_large = || {
        let most = limits::BODY;
        Refusal::new(413, format!("a request has at most {most} bytes"))
    };
    let length = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > limits::BODY as u64) {
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), limits::BODY).collect();
    match timeout(time, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::new(400, "the body of the request cannot be read")),
        Err(_) => Err(Refusal::new(
            408,
            "the body of the request did not come in time",
        )),
    }
}
