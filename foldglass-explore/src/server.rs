//! Serves the page and its questions on this machine alone, and lets no client take more than its share of
//! bytes, time or threads.
//!
//! `guard` keeps everyone out who does not know the address; [`Explorer::ask`] answers on a thread of its own.

mod guard;
mod limits;
mod reply;
mod token;

use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use foldglass_report::error::Error;
use foldglass_report::progress::{Terminal, interrupted};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use self::guard::{Guard, RequestTarget};
use self::reply::Reply;
use self::token::Token;
use crate::api::{Answer, QuestionTime, effort};
use crate::explorer::Explorer;
use crate::refusal::Refusal;

/// How often it is asked whether to end.
const TICK: Duration = Duration::from_millis(100);

/// How long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Without a page, before it ends by itself.
    pub idle: Duration,
    /// For ever.
    pub stay: bool,
    /// For the head of a request, then for its body.
    pub reading: Duration,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEnd {
    /// By Ctrl-C.
    Interrupted,
    /// No page was open any more.
    NoPage,
    /// No page was ever opened.
    NeverOpened,
}

/// A place among those of which there are few; it is free again when this is dropped.
struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// Takes one of `most`.
    fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Seat> {
        let more = |taken: usize| (taken < most).then_some(taken + 1);
        let found = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        found.ok().map(|_| Seat(taken.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An explorer behind an address of this machine.
pub struct Server {
    listener: StdListener,
    shared: Arc<Shared>,
}

/// What all connections share.
struct Shared {
    explorer: Explorer,
    guard: Guard,
    times: Timeouts,
    requests: Arc<AtomicUsize>,
    long_ones: Arc<AtomicUsize>,
}

fn failed(error: io::Error) -> Error {
    Error::Failed(format!("the server cannot begin: {error}"))
}

impl Server {
    /// At the port that is listened at, with a fresh token.
    pub fn new(
        listener: StdListener,
        explorer: Explorer,
        times: Timeouts,
    ) -> Result<Server, Error> {
        let token = Token::random().map_err(|error| {
            Error::Failed(format!("the system gives no random numbers: {error}"))
        })?;
        let port = listener.local_addr().map_err(failed)?.port();
        let shared = Shared {
            explorer,
            guard: Guard { port, token },
            times,
            requests: Arc::default(),
            long_ones: Arc::default(),
        };
        Ok(Server {
            listener,
            shared: Arc::new(shared),
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.shared.guard.port
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        let Guard { port, token } = &self.shared.guard;
        format!("http://127.0.0.1:{port}/{token}/")
    }

    /// Answers pages until Ctrl-C, or until none is open any more.
    pub fn serve(self) -> Result<ServerEnd, Error> {
        let Server { listener, shared } = self;
        // From now on Ctrl-C is heard.
        let _terminal = Terminal::new();
        listener.set_nonblocking(true).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits::THREADS)
            .build()
            .map_err(failed)?;
        let end = runtime.block_on(async {
            let listener = TcpListener::from_std(listener).map_err(failed)?;
            tokio::spawn(accept(listener, shared.clone()));
            loop {
                sleep(TICK).await;
                if interrupted() {
                    return Ok(ServerEnd::Interrupted);
                }
                if let Some(end) = shared.end() {
                    return Ok(end);
                }
            }
        });
        shared.explorer.close();
        runtime.shutdown_timeout(Duration::from_secs(2));
        end
    }
}

impl Shared {
    /// Why it is time to end, if it is.
    fn end(&self) -> Option<ServerEnd> {
        let none = self.explorer.tidy()?;
        let (longest, end) = match none.ever {
            true => (self.times.idle, ServerEnd::NoPage),
            false => (limits::FIRST_PAGE, ServerEnd::NeverOpened),
        };
        (!self.times.stay && none.time >= longest).then_some(end)
    }

    /// A place among the requests that are computed.
    fn seat(&self) -> Result<Seat, Refusal> {
        Seat::take(&self.requests, limits::REQUESTS).ok_or_else(|| {
            let most = limits::REQUESTS;
            Refusal::new(
                503,
                format!("{most} requests are being answered: try again"),
            )
        })
    }

    /// A place among the long ones.
    fn long_seat(&self) -> Result<Seat, Refusal> {
        Seat::take(&self.long_ones, limits::LONG_ONES).ok_or_else(|| {
            let most = limits::LONG_ONES;
            Refusal::new(
                503,
                format!("{most} long computations are running: try again"),
            )
        })
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let connections = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: some will be closed soon.
            sleep(TICK).await;
            continue;
        };
        match Seat::take(&connections, limits::CONNECTIONS) {
            Some(seat) => drop(tokio::spawn(converse(stream, shared.clone(), seat))),
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
async fn converse(stream: TcpStream, shared: Arc<Shared>, _seat: Seat) {
    let _ = stream.set_nodelay(true);
    let reading = shared.times.reading;
    let service = service_fn(move |request| answer(request, shared.clone()));
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

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Reply, Infallible> {
    let place = shared
        .guard
        .admit(request.method(), request.uri(), request.headers());
    Ok(match place {
        // Whoever does not have the address keeps no connection either.
        Err(status) => reply::parting(status),
        Ok(RequestTarget::File(file)) => reply::file(file),
        Ok(RequestTarget::Api(name)) => {
            let answer = ask(name, request, shared).await;
            reply::answer(answer.unwrap_or_else(Answer::from))
        }
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
    shared: Arc<Shared>,
) -> Result<Answer, Refusal> {
    let page = page(request.headers())?;
    let body = body(request, shared.times.reading).await?;
    if let Some(page) = &page {
        shared.explorer.hear(page);
    }
    let page = page.unwrap_or_default();
    let waiting = Waiting(Arc::default());
    let deadline = shared.explorer.deadline(waiting.0.clone());
    let effort = effort(&name);
    if effort == QuestionTime::Short {
        return Ok(shared.explorer.ask(&page, &name, &body, deadline));
    }
    let seat = shared.seat()?;
    let long_seat = (effort == QuestionTime::Long)
        .then(|| shared.long_seat())
        .transpose()?;
    let computed = tokio::task::spawn_blocking(move || {
        let _seats = (seat, long_seat);
        shared.explorer.ask(&page, &name, &body, deadline)
    });
    // A panic is a mistake of this program; it ends this request and nothing else.
    computed.await.map_err(|_| {
        Refusal::new(
            500,
            "the computation failed: this is a mistake in foldglass",
        )
    })
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
