//! Events in the order of their times; those of one time in the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Ns;

#[derive(Debug)]
pub(super) struct Timeline<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Ns,
    number: u64,
    event: E,
}

impl<E> Timeline<E> {
    pub(super) fn new() -> Timeline<E> {
        Timeline { heap: BinaryHeap::new(), added: 0 }
    }

    pub(super) fn add(&mut self, at: Ns, event: E) {
        self.heap.push(Reverse(Entry { at, number: self.added, event }));
        self.added += 1;
    }

    pub(super) fn next_at(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(super) fn next(&self) -> Option<&E> {
        self.heap.peek().map(|Reverse(entry)| &entry.event)
    }

    pub(super) fn pop(&mut self) -> Option<(Ns, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
