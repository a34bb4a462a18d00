//! An HTTP server on threads, for clients without an async runtime.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
};

/// Starts a server that responds to each request. `respond` receives the head and the body of a request, and
/// returns the bytes of the response.
///
/// Returns the origin of the server, and a channel that receives the number of requests of each connection
/// when the client closes it.
pub(crate) fn serve(
    respond: impl Fn(&str, &str) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (ended, connections) = channel();
    let respond = Arc::new(respond);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (ended, respond) = (ended.clone(), Arc::clone(&respond));
            thread::spawn(move || {
                let _ = ended.send(serve_connection(connection.unwrap(), &*respond));
            });
        }
    });
    (origin, connections)
}

/// Responds to requests until the client closes the connection. Returns the number of requests.
fn serve_connection(connection: TcpStream, respond: &impl Fn(&str, &str) -> Vec<u8>) -> usize {
    let mut writer = connection.try_clone().unwrap();
    let mut reader = BufReader::new(connection);
    let mut requests = 0;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return requests;
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        requests += 1;
        writer.write_all(&respond(&head, &String::from_utf8(body).unwrap())).unwrap();
    }
}
