//! Tests of the contract's files, which are served without authentication.

use std::path::PathBuf;

use super::harness::GatewayHarness;

/// CON-03, CON-05: the files are served unchanged, without a token, and with entity tags. The response is
/// `304` if the tag matches.
#[tokio::test]
async fn contract_files_are_served_byte_for_byte() {
    let harness = GatewayHarness::with_config(|config| config.limits.per_address = 1000).await;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut files = vec![("openapi.json".to_owned(), folder.join("openapi.json"), "application/json")];
    for entry in std::fs::read_dir(folder.join("exchange/v1")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.push((format!("schemas/{name}"), path, "application/schema+json"));
    }
    assert_eq!(files.len(), 34);
    for (name, path, media_type) in files {
        let get = || {
            let mut request = harness.get(&format!("/exchange/v1/{name}"));
            request.authorization.clear();
            request.proofs = Some(Vec::new());
            request
        };
        let reply = harness.send(get()).await;
        assert_eq!((reply.status, &reply.bytes[..]), (200, &std::fs::read(&path).unwrap()[..]), "{name}");
        assert_eq!(reply.header("content-type"), Some(media_type));
        assert_eq!(reply.header("cache-control"), Some("public, max-age=3600"));
        assert!(!reply.has("dpop-nonce") && !reply.has("ratelimit"));
        let tag = reply.header("etag").unwrap().to_owned();
        for matching_tag in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = harness.send(get().header("If-None-Match", &matching_tag)).await;
            assert_eq!((again.status, again.header("etag")), (304, Some(tag.as_str())), "{matching_tag}");
            assert_eq!(again.header("cache-control"), Some("public, max-age=3600"));
        }
        assert_eq!(harness.send(get().header("If-None-Match", "\"other\"")).await.status, 200);
    }
}

/// A44: an unknown file name is not found, and the response has no nonce. An invalid token or proof is
/// ignored.
#[tokio::test]
async fn unknown_names_are_not_found() {
    let harness = GatewayHarness::new().await;
    for name in ["nothing", "page.schema", "Page", "%70age"] {
        let reply = harness.send(harness.get(&format!("/exchange/v1/schemas/{name}.schema.json"))).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{name}");
        assert_eq!(
            reply.header("cache-control"),
            Some("no-store"),
            "the error must not be cached, because the file may be added"
        );
    }
    let unauthenticated =
        harness.get("/exchange/v1/schemas/page.schema.json").token("nobodys").proof("garbage");
    assert_eq!(harness.send(unauthenticated).await.status, 200);
    assert_eq!(harness.traces().await.live, 0);
}

/// GW-03: `OPTIONS` lists the methods of a path without a token; an unknown path is not found.
#[tokio::test]
async fn options_lists_the_methods_of_a_path() {
    let harness = GatewayHarness::new().await;
    for (path, status, allow) in [
        ("/exchange/v1", 204, Some("GET, HEAD, OPTIONS")),
        ("/exchange/v1/me/stock/changes", 204, Some("POST, OPTIONS")),
        ("/exchange/v1/openapi.json", 204, Some("GET, HEAD, OPTIONS")),
        ("/exchange/v1/nothing", 404, None),
    ] {
        let mut request = harness.get(path);
        request.method = "OPTIONS".to_owned();
        request.authorization.clear();
        request.proofs = Some(Vec::new());
        let reply = harness.send(request).await;
        assert_eq!((reply.status, reply.header("allow")), (status, allow), "{path}");
        assert!(!reply.has("dpop-nonce"));
    }
}

/// GW-03: the response to `HEAD` is that of `GET` without its body, but with its length.
#[tokio::test]
async fn head_equals_get_without_body() {
    let harness = GatewayHarness::new().await;
    for path in ["/exchange/v1/openapi.json", "/exchange/v1", "/exchange/v1/me/stock"] {
        let get = harness.send(harness.get(path)).await;
        let mut request = harness.get(path).draft(|draft| draft.claim("htm", "HEAD"));
        request.method = "HEAD".to_owned();
        let head = harness.send(request).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-length"), Some(get.bytes.len().to_string().as_str()));
        assert_eq!(head.header("content-type"), get.header("content-type"));
    }
    // DPP-08: the proof contains the method `HEAD`.
    let mut request = harness.get("/exchange/v1");
    request.method = "HEAD".to_owned();
    assert_eq!(harness.send(request).await.challenge(), "invalid_dpop_proof");
}
