//! Zones of a DNS and CDN service: signs in, lists deploys over all pages, creates a zone and a record, uploads a
//! file as a stream, and handles a record that does not exist.

use std::error::Error as StdError;

use crate::dns::{
    calls::{GetDnsZonesOptions, ListSiteDeploysOptions, UploadDeployFileOptions},
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::{ByteStream, Transport},
    servers,
    types::{DnsRecordCreate, DnsZoneSetup},
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let client = Client::new(servers::DEFAULT, Credentials::new().netlify_auth(token).wrap(transport));
    let mut lines = Vec::new();

    let mut deploys = client.list_site_deploys_items("lamps", ListSiteDeploysOptions::new().per_page(2));
    while let Some(deploy) = deploys.next().await {
        let deploy = deploy?;
        lines.push(deploy.state.as_deref().unwrap_or("no state").to_owned());
    }

    let setup = DnsZoneSetup { name: Some("lamps.example".to_owned()), ..Default::default() };
    let zone = client.create_dns_zone(&setup).await?;
    let zone_id = zone.id.as_deref().unwrap_or("missing");
    let record = DnsRecordCreate {
        type_: Some("CNAME".to_owned()),
        hostname: Some("www".to_owned()),
        value: Some("lamps.example.".to_owned()),
        ttl: Some(3600),
        ..Default::default()
    };
    let record = client.create_dns_record(zone_id, &record).await?;
    lines.push(format!("record {}", record.type_.as_deref().unwrap_or("without type")));

    let zones = client.get_dns_zones(GetDnsZonesOptions::new().account_slug("lamps")).await?;
    lines.push(format!("{} zones", zones.len()));

    let page = ByteStream::from("<!doctype html><title>Lamps</title>");
    let options = UploadDeployFileOptions::new().size(35);
    let file = client.upload_deploy_file_stream("5d7f", "index.html", page, options).await?;
    lines.push(format!("uploaded {}", file.path.as_deref().unwrap_or("a file")));

    match client.delete_dns_record(zone_id, "gone").await {
        Ok(response) => lines.push(response.status().to_string()),
        Err(Error::ErrorResponse(response)) => {
            lines.push(format!("{}: {}", response.status(), response.body().message));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
