//! The health API over real HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::io;
use std::net::SocketAddr;

use gpulab_device::Inventory;
use gpulab_plugin::control::Control;
use gpulab_plugin::{RESOURCE, SharedInventory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

async fn bind(address: &str, inventory: &SharedInventory) -> io::Result<Control> {
    Control::bind(address.parse().unwrap(), RESOURCE, inventory.clone()).await
}

/// The whole answer to one request, head and body.
async fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn status(address: SocketAddr, method: &str, path: &str, body: &str) -> u16 {
    ask(address, method, path, body).await.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_request_has_its_status() {
    let inventory = SharedInventory::new(Inventory::lab(2));
    let control = bind("127.0.0.1:0", &inventory).await.unwrap();
    let address = control.address().unwrap();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(control.serve(stop.clone()));
    let unhealthy = r#"{"health":"Unhealthy"}"#;
    let table = [
        ("PUT", "/devices/sim-gpu-1/health", unhealthy, 204),
        ("PUT", "/devices/sim-gpu-1/health", unhealthy, 204),
        ("PUT", "/devices/sim-gpu-1/health", r#"{"health":"unhealthy"}"#, 400),
        ("PUT", "/devices/sim-gpu-1/health", r#"{"health":{"Unhealthy":null}}"#, 400),
        ("PUT", "/devices/sim-gpu-1/health", r#"{"health":"Healthy","why":1}"#, 400),
        ("PUT", "/devices/sim-gpu-1/health", "Healthy", 400),
        ("PUT", "/devices/sim-gpu-1/health", "", 400),
        ("PUT", "/devices/sim-gpu-1/health", &" ".repeat(5000), 400),
        ("PUT", "/devices/sim-gpu-2/health", unhealthy, 404),
        ("PUT", "/devices/sim-gpu-1", unhealthy, 404),
        ("GET", "/", "", 404),
        ("GET", "/devices/sim-gpu-1/health", "", 405),
        ("POST", "/devices/sim-gpu-1/health", unhealthy, 405),
        ("DELETE", "/devices", "", 405),
        ("GET", "/devices", "", 200),
    ];
    for (method, path, body, expected) in table {
        assert_eq!(status(address, method, path, body).await, expected, "{method} {path} {body}");
    }
    let listed = ask(address, "GET", "/devices", "").await;
    let body: serde_json::Value = serde_json::from_str(listed.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let expected = serde_json::json!({"resource": RESOURCE, "devices": [
        {"id": "sim-gpu-0", "health": "Healthy"}, {"id": "sim-gpu-1", "health": "Unhealthy"},
    ]});
    assert_eq!(body, expected);
    assert!(ask(address, "POST", "/devices", "").await.to_lowercase().contains("\r\nallow: get\r\n"));
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn listens_on_loopback_only() {
    let error = bind("0.0.0.0:0", &SharedInventory::default()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
