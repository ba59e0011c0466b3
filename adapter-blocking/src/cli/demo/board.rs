//! The board: the state of the play as lines of text, for a terminal of any size.

use std::sync::Arc;
use std::time::Duration;

use sanskube::object::{Object as _, ReplicaSet};
use sanskube::replicaset::is_ready;
use sanskube::time::Timestamp;

use super::ledger::Book;
use super::story::Step;
use super::view::{Pod, View};

/// How many of the last deeds are shown.
const DEEDS: usize = 5;

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const CYAN: &str = "36";

/// What the board shows.
pub(super) struct Board<'a> {
    /// The story.
    pub(super) steps: &'a [Step],
    /// How long the steps that have ended took.
    pub(super) took: &'a [Duration],
    /// How long the play has been going on.
    pub(super) elapsed: Duration,
    /// What there is in the cluster.
    pub(super) view: &'a View,
    /// What the controller did.
    pub(super) book: &'a Book,
    /// The last line of the log, if there is one.
    pub(super) log: Option<String>,
    /// The time, for ages.
    pub(super) now: Timestamp,
}

impl Board<'_> {
    /// The board as at most `height` lines of at most `width` characters. What does not fit is left out where it matters least.
    pub(super) fn render(&self, width: usize, height: usize) -> Vec<String> {
        let mut page = Page { width, lines: Vec::new() };
        let deeds = self.book.last.len().min(DEEDS);
        // Headings, blank lines and tables but for the pods; the steps get at most what is left by five lines of pods.
        let fixed = 1 + 1 + 2 + self.view.sets.len() + 1 + 1 + 2 + DEEDS + usize::from(self.log.is_some());
        let steps = self.steps.len().min(height.saturating_sub(fixed + 5).max(3));
        let pods = height.saturating_sub(fixed + steps);

        self.title(&mut page);
        self.show_steps(&mut page, steps);
        page.line(&[]);
        show_sets(&mut page, &self.view.sets);
        page.line(&[]);
        self.show_pods(&mut page, pods);
        page.line(&[]);
        page.line(&[(DIM, "WHAT THE CONTROLLER DID LAST")]);
        for (deed, count) in self.book.last.iter().skip(self.book.last.len() - deeds) {
            let times = if *count > 1 { format!("  ×{count}") } else { String::new() };
            page.line(&[("", "  "), ("", deed), (DIM, &times)]);
        }
        if let Some(line) = &self.log {
            page.line(&[(YELLOW, line)]);
        }
        page.lines.truncate(height);
        page.lines
    }

    fn title(&self, page: &mut Page) {
        let Book { created, deleted, calls, .. } = self.book;
        let seconds = self.elapsed.as_secs_f64();
        let counts = format!("   {seconds:.1} s   pods: {created} created, {deleted} deleted   HTTP calls: {calls}");
        page.line(&[(BOLD, "sanskube demo"), (DIM, &counts)]);
    }

    /// The last steps that have ended, the one that is going on, and those that come.
    fn show_steps(&self, page: &mut Page, most: usize) {
        let current = self.took.len();
        let first = (current + 2).saturating_sub(most).min(self.steps.len() - most);
        for (n, step) in self.steps.iter().enumerate().skip(first).take(most) {
            match self.took.get(n) {
                Some(took) => {
                    page.line(&[(GREEN, "✓ "), ("", step.name), (DIM, &format!("  {:.1} s", took.as_secs_f64()))]);
                }
                None if n == current => {
                    page.line(&[(YELLOW, "▸ "), (BOLD, step.name), (DIM, "  "), (DIM, step.expected)]);
                }
                None => page.line(&[(DIM, "· "), (DIM, step.name)]),
            }
        }
    }

    fn show_pods(&self, page: &mut Page, most: usize) {
        page.line(&[(
            DIM,
            &format!("{:14} {:12} {:7} {:10} {:>5}  {}", "POD", "PHASE", "READY", "NODE", "AGE", "SET"),
        )]);
        let pods = &self.view.pods;
        // The last line tells of those that do not fit.
        let shown = if pods.len() <= most { pods.len() } else { most.saturating_sub(1) };
        for pod in &pods[..shown] {
            self.show_pod(page, pod);
        }
        if shown < pods.len() {
            page.line(&[(DIM, &format!("… and {} more", pods.len() - shown))]);
        }
    }

    fn show_pod(&self, page: &mut Page, pod: &Pod) {
        let (phase, color) = match pod.phase.as_str() {
            _ if pod.terminating => ("Terminating", DIM),
            "Running" => ("Running", GREEN),
            "Failed" => ("Failed", RED),
            phase => (phase, YELLOW),
        };
        let owner = self.view.sets.iter().find(|set| pod.is_owned_by(set));
        let owner = match (owner, &pod.owner) {
            (Some(set), _) => set.name(),
            (None, Some(_)) => "(gone)",
            (None, None) => "(none)",
        };
        let age = pod.created.map_or(0, |created| self.now.as_seconds() - created.as_seconds()).max(0);
        let ready = if pod.is_ready() { (GREEN, format!("{:7}", "yes")) } else { (YELLOW, format!("{:7}", "no")) };
        page.line(&[
            ("", &format!("{:14} ", pod.name)),
            (color, &format!("{phase:12} ")),
            (ready.0, &format!("{} ", ready.1)),
            ("", &format!("{:10} {:>5}  ", pod.node, format!("{age}s"))),
            (CYAN, owner),
        ]);
    }
}

fn show_sets(page: &mut Page, sets: &[Arc<ReplicaSet>]) {
    page.line(&[(
        DIM,
        &format!("  {:14} {:>8} {:>8} {:>8} {:>10}", "SET", "DESIRED", "CURRENT", "READY", "AVAILABLE"),
    )]);
    for set in sets {
        let (desired, status) = (set.replicas(), set.status());
        let number = |count: i32, width: usize| {
            (if usize::try_from(count) == Ok(desired) { GREEN } else { YELLOW }, format!(" {count:>width$}"))
        };
        let (current, ready, available) =
            (number(status.replicas, 8), number(status.ready_replicas, 8), number(status.available_replicas, 10));
        page.line(&[
            if is_ready(set) { (GREEN, "✓ ") } else { (YELLOW, "▸ ") },
            ("", &format!("{:14} {desired:>8}", set.name())),
            (current.0, &current.1),
            (ready.0, &ready.1),
            (available.0, &available.1),
        ]);
    }
}

/// Lines that are no wider than the terminal.
struct Page {
    width: usize,
    lines: Vec<String>,
}

impl Page {
    /// Adds a line of pieces, each with its colour (an SGR parameter; none if empty). What is too wide is cut off.
    fn line(&mut self, pieces: &[(&str, &str)]) {
        let (mut line, mut left) = (String::new(), self.width);
        for (color, text) in pieces {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            if color.is_empty() || text.is_empty() {
                line.push_str(&text);
            } else {
                line.push_str(&format!("\x1b[{color}m{text}\x1b[0m"));
            }
        }
        self.lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::story::STORY;
    use super::super::view::read_set;
    use super::*;

    fn pod(n: u64) -> Pod {
        Pod {
            name: format!("web-{n:03}"),
            uid: n.to_string(),
            phase: if n == 0 { "Failed" } else { "Running" }.into(),
            ready_since: (n > 1).then(|| Timestamp::from_seconds(90)),
            node: "node-a".into(),
            created: Some(Timestamp::from_seconds(90)),
            owner: (n != 2).then(|| "set".into()),
            terminating: n == 3,
        }
    }

    /// A board after four steps, with so many pods.
    fn board(pods: u64, width: usize, height: usize) -> Vec<String> {
        let [web, cache] =
            [("web", "set", 9, 8, 0), ("cache", "other", 10, 10, 10)].map(|(name, uid, current, ready, available)| {
                let status = json!({"replicas": current, "readyReplicas": ready, "availableReplicas": available});
                let metadata = json!({"name": name, "uid": uid});
                read_set(&json!({"metadata": metadata, "spec": {"replicas": 10}, "status": status})).unwrap()
            });
        let view = View { sets: vec![web, cache], pods: (0..pods).map(pod).collect() };
        let mut book = Book { created: 7, deleted: 1, calls: 99, ..Book::default() };
        book.last.extend([("creates a pod".into(), 7), ("deletes the pod web-1".into(), 1)]);
        let (took, elapsed) = ([Duration::from_millis(430); 4], Duration::from_millis(1720));
        Board {
            steps: STORY,
            took: &took,
            elapsed,
            view: &view,
            book: &book,
            log: None,
            now: Timestamp::from_seconds(97),
        }
        .render(width, height)
    }

    /// A line without its colours.
    fn plain(line: &str) -> String {
        let mut pieces = line.split('\x1b');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            text += piece.split_once('m').unwrap().1;
        }
        text.trim_end().into()
    }

    #[test]
    fn a_board_tells_the_whole_state() {
        let lines: Vec<_> = board(4, 120, 60).iter().map(|line| plain(line)).collect();
        for line in [
            "sanskube demo   1.7 s   pods: 7 created, 1 deleted   HTTP calls: 99",
            "✓ the set is scaled from 10 to 2  0.4 s",
            "▸ a pod is killed  it is gone, and another one has taken its place",
            "· both sets are deleted",
            "  SET             DESIRED  CURRENT    READY  AVAILABLE",
            "▸ web                  10        9        8          0",
            "✓ cache                10       10       10         10",
            "POD            PHASE        READY   NODE         AGE  SET",
            "web-000        Failed       no      node-a        7s  web",
            "web-001        Running      no      node-a        7s  web",
            "web-002        Running      yes     node-a        7s  (none)",
            "web-003        Terminating  yes     node-a        7s  web",
            "  creates a pod  ×7",
            "  deletes the pod web-1",
        ] {
            assert!(lines.iter().any(|known| known == line), "{line:?} is not in {lines:#?}");
        }
    }

    #[test]
    fn a_board_fits_the_terminal() {
        for (pods, width, height) in
            [(0, 80, 23), (4, 80, 23), (12, 80, 23), (500, 80, 23), (500, 20, 40), (9, 3, 2), (9, 0, 0)]
        {
            let lines = board(pods, width, height);
            assert!(lines.len() <= height, "{pods} pods in {width}x{height}: {} lines", lines.len());
            for line in lines {
                assert!(plain(&line).chars().count() <= width);
            }
        }
    }

    #[test]
    fn pods_that_do_not_fit_are_counted() {
        let lines: Vec<_> = board(100, 80, 30).iter().map(|line| plain(line)).collect();
        assert!(lines.iter().any(|line| line.starts_with("… and ") && line.ends_with(" more")), "{lines:#?}");
        assert!(lines.iter().any(|line| line == "  deletes the pod web-1"), "{lines:#?}");
    }
}
