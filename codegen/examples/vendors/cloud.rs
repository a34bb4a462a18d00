//! Virtual machines of a cloud service: signs in, lists machines over all pages, creates one with keys, renames the
//! project, deletes a machine, and handles a machine that does not exist.

use std::error::Error as StdError;

use crate::cloud::{
    calls::DropletsListOptions,
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::Transport,
    servers,
    types::{
        DropletSingleCreate, DropletsCreateBody, DropletsCreateResponse, Project, ProjectBaseEnvironment,
    },
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let credentials = Credentials::new().bearer_auth(token);
    let client = Client::new(servers::PRODUCTION, credentials.wrap(transport));
    let mut lines = Vec::new();

    let mut machines = client.droplets().list_items(DropletsListOptions::new().per_page(2));
    while let Some(machine) = machines.next().await {
        let machine = machine?;
        lines.push(format!("{} in {}", machine.name, machine.region.slug));
    }

    let machine = DropletSingleCreate {
        region: Some("fra1".into()),
        ssh_keys: Some(vec![289_794.into(), "3b:16:e4:bf:8b:00:8b:b8:59:8c:a9:d3:f0:19:fa:45".into()]),
        tags: Some(vec!["lamp".to_owned()].into()),
        ..DropletSingleCreate::new("lamp-1", "s-1vcpu-1gb", "ubuntu-24-04-x64")
    };
    let created = client.droplets().create(&DropletsCreateBody::from(machine)).await?;
    match created.body() {
        DropletsCreateResponse::SingleDropletResponse(created) => lines.push(created.droplet.name.clone()),
        DropletsCreateResponse::MultipleDropletResponse(created) => {
            lines.extend(created.droplets.iter().map(|machine| machine.name.clone()));
        }
        DropletsCreateResponse::Unknown(body) => lines.push(body.to_string()),
    }

    let change = Project { environment: Some(ProjectBaseEnvironment::Staging), ..Default::default() };
    let project = client.projects().patch("4e1bfbc3-dc3e-41f2-a18f-1b4d7ba71679", &change).await?;
    if let Some(name) = project.project.as_ref().and_then(|project| project.name.as_deref()) {
        lines.push(format!("project {name}"));
    }

    match client.droplets().destroy(1).await {
        Ok(response) => lines.push(response.status().to_string()),
        Err(Error::ErrorResponse(response)) => lines.push(response.status().to_string()),
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
