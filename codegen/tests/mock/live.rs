//! Tests of `test` with mock servers of other contracts as the live service.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use super::{MockProcess, create_folder};

const TEAMS: &str = r"
openapi: 3.1.0
info: { title: Teams, version: '1' }
security: [{ token: [] }]
paths:
  /teams:
    get:
      operationId: listTeams
      parameters: [{ name: limit, in: query, schema: { type: integer, minimum: 1, maximum: 50 } }]
      responses:
        '200': { description: All., content: { application/json: { schema: { type: array, minItems: 1, items: { $ref: '#/components/schemas/Team' } } } } }
        '400': { description: No. }
    post:
      operationId: addTeam
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Team' } } } }
      responses: { '201': { description: Added. }, '400': { description: No. } }
  /teams/{id}:
    get:
      operationId: readTeam
      parameters: [{ name: id, in: path, required: true, schema: { type: string, minLength: 2 } }]
      responses:
        '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Team' } } } }
        '400': { description: No. }
components:
  securitySchemes: { token: { type: http, scheme: bearer } }
  schemas:
    Team:
      type: object
      required: [id, size]
      properties:
        id: { type: string, minLength: 2, maxLength: 9, example: t-17 }
        size: { type: integer, minimum: 0, maximum: 99 }
";

/// Starts a mock server of a contract, and returns it with its address.
fn start_service(folder: &Path, contract: &str) -> (MockProcess, String) {
    fs::write(folder.join("service.yaml"), contract).unwrap();
    let mut service = MockProcess::start(folder, &["service.yaml", "--port", "0"]);
    let line = service.read_line();
    let address = line.strip_prefix("listening on ").and_then(|rest| rest.split_once(": ")).unwrap().0;
    (service, address.to_owned())
}

fn run_test(folder: &Path, url: &str, options: &[&str]) -> Output {
    fs::write(folder.join("teams.yaml"), TEAMS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contract-codegen"));
    command.args(["test", url, "teams.yaml"]).args(options).current_dir(folder);
    command.env("NO_COLOR", "1").env("TEAMS_TOKEN", "Bearer s3cret").output().unwrap()
}

const TOKEN: &[&str] = &["--header", "Authorization: $TEAMS_TOKEN"];

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn service_that_follows_the_contract_has_no_findings() {
    let folder = create_folder("live-valid");
    let (mut service, url) = start_service(&folder, TEAMS);
    let output = run_test(&folder, &url, &[TOKEN, &["--requests", "3", "--write"]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.starts_with("3 operations tested, 0 skipped: ") && text.ends_with(", 0 findings; seed 0\n"),
        "{text}"
    );
    // The id comes from the response of the list.
    service.interrupt();
    let mut log = String::new();
    while let Some(line) = Some(service.read_line()).filter(|line| !line.is_empty()) {
        log += &line;
        log.push('\n');
    }
    assert!(log.contains("200 GET /teams/t-17 readTeam"), "{log}");
    for invalid in ["400 POST /teams addTeam", "400 GET /teams listTeams", "400 GET /teams/"] {
        assert!(log.contains(invalid), "{log}");
    }
}

#[test]
fn findings_are_reported_with_commands() {
    let folder = create_folder("live-findings");
    // The service accepts larger limits and returns larger teams.
    let contract =
        TEAMS.replace("maximum: 50", "maximum: 1000").replace("minimum: 0, maximum: 99", "minimum: 500");
    let (_service, url) = start_service(&folder, &contract);
    let run = || run_test(&folder, &url, &[TOKEN, &["--junit", "findings.xml"]].concat());
    let output = run();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for expected in [
        "listTeams: response body /0/size must be at most 99",
        "listTeams: status 200 for an invalid request: query /limit must be at most 50",
        "readTeam: response body /size must be at most 99",
        &format!("curl -i -X GET '{url}/teams/t-17' -H \"authorization: $TEAMS_TOKEN\""),
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(!text.contains("s3cret") && !text.contains("addTeam"), "{text}");
    let junit = fs::read_to_string(folder.join("findings.xml")).unwrap();
    assert!(
        junit.contains("<testsuite name=\"Teams 1\" tests=\"2\" failures=\"2\" skipped=\"0\">"),
        "{junit}"
    );
    assert!(junit.contains("<failure message=\"response body /size must be at most 99\">curl"), "{junit}");
    // Equal seeds send equal requests.
    assert_eq!(stdout(&run()), text);
}

#[test]
fn rejected_valid_requests_are_findings() {
    let folder = create_folder("live-rejected");
    let (_service, url) = start_service(&folder, &TEAMS.replace("maximum: 50", "maximum: 5"));
    let text = stdout(&run_test(&folder, &url, TOKEN));
    assert!(text.contains("listTeams: status 400 for a valid request"), "{text}");
    assert!(!text.contains("readTeam"), "{text}");
}

#[test]
fn operations_without_credentials_are_skipped() {
    let folder = create_folder("live-credentials");
    let (_service, url) = start_service(&folder, TEAMS);
    let output = run_test(&folder, &url, &["--operation", "listTeams", "--json"]);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(0), "{lines:?}");
    assert!(lines[0]["operation"]["skipped"].as_str().unwrap().contains("--header"), "{lines:?}");
    assert_eq!(lines[1]["summary"]["skipped"], 1, "{lines:?}");
    let output = run_test(&folder, &url, &["--header", "Authorization: $UNSET_S3CRET_VARIABLE"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn unavailable_services_are_findings() {
    let folder = create_folder("live-down");
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let output = run_test(&folder, &url, TOKEN);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("listTeams: no response: "), "{}", stdout(&output));
}
