//! Tests of requests that a server cannot represent or parse.

use http::Request;

use super::*;

const SEATS: &str = r"
paths:
  /seats:
    post:
      operationId: addSeat
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Seat' } } } }
      responses: { '204': { description: Added. } }
components:
  schemas:
    Seat:
      type: object
      properties:
        row: { type: integer, format: int32 }
        age: { type: integer, format: uint32, maximum: 150 }
        note: {}
";

/// Returns the status and the body of the response to a seat.
fn add_seat(options: &str, body: &str) -> (u16, String) {
    let sources = Sources::from_texts(&[("api.yaml", "", &api(SEATS))]).unwrap();
    let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let mock = MockServer::new(project, contract, 0);
    let request = Request::post("/seats").header("content-type", "application/json");
    let response = mock.respond_to(request.body(Bytes::from(body.to_owned())).unwrap());
    (response.status().as_u16(), String::from_utf8(response.into_body().to_vec()).unwrap())
}

/// The mock server rejects the integers that a generated server with these options rejects.
#[test]
fn machine_integers_are_limited() {
    let own = "types.machine-integers = ['#/components/schemas/Seat/properties/row']";
    let other = "types.machine-integers = ['#/components/schemas/Seat/properties/age']";
    for (options, body, status) in [
        ("", r#"{"row": 3000000000}"#, 204),
        ("types.machine-integers = false", r#"{"row": 3000000000}"#, 204),
        ("types.machine-integers = true", r#"{"row": 3000000000}"#, 400),
        ("types.machine-integers = true", r#"{"row": -2147483648}"#, 204),
        (own, r#"{"row": 3000000000}"#, 400),
        (own, r#"{"row": 2147483647, "age": -1}"#, 204),
        (other, r#"{"row": 3000000000}"#, 204),
        (other, r#"{"age": -1}"#, 400),
    ] {
        let (found, response) = add_seat(options, body);
        assert_eq!(found, status, "{options} {body}: {response}");
    }
}

/// A message about a part of a request names the part once.
#[test]
fn messages_name_their_place_once() {
    let deep = format!(r#"{{"note": {}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    for body in [deep.as_str(), "", "{", "\u{0}", r#"{"row": "x"}"#] {
        let (status, response) = add_seat("", body);
        assert_eq!(status, 400, "{response}");
        assert!(!response.contains("body the body"), "{response}");
    }
}
