//! Every page of a lab that has measured something: each link leads somewhere, each twin is there, nothing in it runs.

use std::collections::{BTreeSet, VecDeque};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use blklab_lab_tests::{ScriptedHost, TestLab, submission};
use blklab_model::id::ExperimentId;
use blklab_model::testing::noise;
use blklab_wire::agent::Output;
use reqwest::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use reqwest::{Response, StatusCode};

/// What a workload under test may print.
const EVIL: &str = "<script>alert('raw')</script>\n";

/// A lab with one experiment of a question full of markup, whose trials are over but for the last job.
async fn lab() -> (TestLab, ScriptedHost, ExperimentId) {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let changes = [
        ("Is bfq slower than none?", "<script>alert('title')</script>"),
        ("\"none\", \"bfq\"", "\"none\", { name = \"bfq\", label = \"<b>bfq</b>\" }"),
    ];
    let id = lab.client().submit(&submission(&changes)).await.expect("a place in the queue").id;
    for round in 0..5 {
        let job = host.claim().await.expect("a claim").expect("a job");
        for spec in &job.trials {
            let rate = if spec.scheduler.name == "bfq" { 40e6 } else { 80e6 };
            let mut report = host.completed(&job, spec, rate * noise(spec.trial.arm, round));
            report.outputs.push(Output { name: "evil.html".into(), base64: BASE64_STANDARD.encode(EVIL), truncated_bytes: 0 });
            host.report(&report).await.expect("a receipt");
        }
    }
    (lab, host, id)
}

/// Fetches a path as a browser does.
async fn get(lab: &TestLab, path: &str) -> Response {
    browser().get(format!("{}{path}", lab.url)).send().await.expect("an answer")
}

fn browser() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().expect("a client")
}

async fn text(lab: &TestLab, path: &str) -> String {
    let response = get(lab, path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    response.text().await.expect("a text")
}

/// What `href="` and `src="` say, without fragments.
fn links(html: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|attribute| html.split(attribute).skip(1));
    values.filter_map(|rest| rest.split('"').next()).map(|link| link.split('#').next().unwrap_or_default()).filter(|link| !link.is_empty())
}

#[tokio::test]
async fn every_link_leads_somewhere_and_no_page_holds_foreign_markup() {
    let (lab, host, _) = lab().await;
    for state in ["running", "finished"] {
        if state == "finished" {
            host.work(|_| 60e6).await;
        }
        let mut seen = BTreeSet::from(["/".to_owned()]);
        let mut open = VecDeque::from(["/".to_owned()]);
        while let Some(path) = open.pop_front() {
            let response = get(&lab, &path).await;
            assert_eq!(response.status(), StatusCode::OK, "{path} while {state}");
            let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
            let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
            assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
            assert!(!policy.contains("unsafe"), "{policy}");
            if !kind.starts_with("text/html") {
                continue;
            }
            let html = response.text().await.unwrap();
            for forbidden in ["<script>", "<b>", " style=", " onclick=", "<style"] {
                assert!(!html.contains(forbidden), "{forbidden} in {path}: {html}");
            }
            for link in links(&html) {
                assert!(link.starts_with('/') && !link.starts_with("//"), "{path} leads to {link}");
                if seen.insert(link.to_owned()) {
                    open.push_back(link.to_owned());
                }
            }
        }
        for path in [
            "/experiments/x1",
            "/experiments/x1.csv",
            "/experiments/x1.toml",
            "/experiments/x1/cells/0",
            "/hosts/lab-1",
            "/queue.json",
            "/method",
        ] {
            assert!(seen.contains(path), "{path} is reached from /: {seen:?}");
        }
    }
}

#[tokio::test]
async fn twins_say_what_the_page_says() {
    let (lab, host, id) = lab().await;
    host.work(|spec| if spec.scheduler.name == "bfq" { 40e6 } else { 80e6 } * noise(spec.trial.arm, 5)).await;
    let report = lab.client().report(id).await.unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(&lab, "/experiments/x1.json").await).unwrap();
    assert_eq!(json["headline"], report.headline);
    let mail = text(&lab, "/experiments/x1.txt").await;
    assert!(mail.starts_with("Verdict: Regression suspected in 1 of 1 comparison"), "{mail}");
    assert!(mail.contains(&format!("Details    {}/experiments/x1\n", lab.url)), "links lead back to where the reader came from: {mail}");
    assert_eq!(text(&lab, "/experiments/x1.csv").await.lines().count(), 3, "a head and two metrics");
    assert_eq!(text(&lab, "/experiments/x1/cells/0.csv").await.lines().count(), 13, "a head and twelve trials");
    let cell: serde_json::Value = serde_json::from_str(&text(&lab, "/experiments/x1/cells/0.json").await).unwrap();
    assert_eq!(cell["id"], "x1.c0");
    assert!(text(&lab, "/experiments/x1.toml").await.contains("compare = \"scheduler\""));
    assert!(text(&lab, "/experiments/x1").await.contains("Regression suspected in 1 of 1 comparison"));
}

#[tokio::test]
async fn raw_outputs_are_text_that_cannot_run() {
    let (lab, _host, _) = lab().await;
    let response = get(&lab, "/experiments/x1/trials/x1.c0.r0.a0/raw/evil.html").await;
    assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], "default-src 'none'; sandbox");
    assert_eq!(response.text().await.unwrap(), EVIL);
}

#[tokio::test]
async fn what_is_not_there_is_a_page_that_helps() {
    let (lab, _host, _) = lab().await;
    let missing = [
        "/nothing",
        "/experiments/x99",
        "/experiments/x99.json",
        "/experiments/%3Cscript%3E",
        "/experiments/x1/cells/99",
        "/experiments/x1/cells/minus",
        "/experiments/x1/trials/x1.c0.r0.a0/raw/none",
        "/experiments/x2/trials/x1.c0.r0.a0/raw/evil.html",
        "/experiments/x1/trials/..%2F..%2Fetc/raw/passwd",
        "/hosts/lab-99",
        "/hosts/lab-99.json",
        "/hosts/%00",
    ];
    for path in missing {
        let response = get(&lab, path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let html = response.text().await.unwrap();
        assert!(html.contains("<a href=\"/\">Experiments</a>") && !html.contains("<script>"), "{path}: {html}");
    }
}

#[tokio::test]
async fn browsers_keep_the_style_sheet() {
    let lab = TestLab::new().await;
    let etag = get(&lab, "/assets/style.css").await.headers()[ETAG].clone();
    let again = browser().get(format!("{}/assets/style.css", lab.url)).header(IF_NONE_MATCH, etag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn an_empty_lab_says_how_to_begin() {
    let lab = TestLab::new().await;
    let home = text(&lab, "/").await;
    assert!(home.contains("blklab submit") && home.contains("No host is enrolled yet"), "{home}");
    assert!(text(&lab, "/queue").await.contains("The queue is empty"));
}
