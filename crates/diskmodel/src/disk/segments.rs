//! What a disk with arms keeps of what passed under its head, and the reading ahead that goes on while it has nothing else to do.

use super::Ns;
use super::geometry::Geometry;

/// A range that was read, and when it was last of use.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: u64,
    end: u64,
    used: u64,
}

/// Reading on behind the last read of a stream.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    /// Where the pass is at `from_at`.
    from: u64,
    from_at: Ns,
    /// Where it stops.
    limit: u64,
}

#[derive(Debug)]
pub(super) struct Segments {
    list: Vec<Segment>,
    most: usize,
    segment_bytes: u64,
    disk_bytes: u64,
    ahead: Option<Ahead>,
    uses: u64,
}

impl Segments {
    pub(super) fn new(most: u32, segment_kib: u32, disk_bytes: u64) -> Segments {
        let segment_bytes = u64::from(segment_kib) << 10;
        let most = if segment_bytes == 0 { 0 } else { most as usize };
        Segments { list: Vec::with_capacity(most), most, segment_bytes, disk_bytes, ahead: None, uses: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.ahead = None;
    }

    /// Whether all of a range is here; the stream that it belongs to is then read on.
    pub(super) fn hit(&mut self, at: Ns, start: u64, end: u64, geometry: &Geometry, phase: Ns) -> bool {
        let reached = self.ahead.map(|ahead| (ahead.segment, ahead.position(at, geometry)));
        let holds = |index: usize, segment: &Segment| {
            let segment_end = reached.filter(|(active, _)| *active == index).map_or(segment.end, |(_, position)| position);
            segment.start <= start && end <= segment_end
        };
        let Some(index) = self.list.iter().enumerate().position(|(index, segment)| holds(index, segment)) else { return false };
        self.touch(index);
        if let Some(mut ahead) = self.ahead.filter(|ahead| ahead.segment == index) {
            self.read_on(&mut ahead, at, end, geometry, phase);
            self.ahead = Some(ahead);
        }
        true
    }

    /// When the pass that is under way would have read a range that it has begun or is about to begin; none when it would not.
    pub(super) fn streams_by(&self, at: Ns, start: u64, end: u64, geometry: &Geometry) -> Option<Ns> {
        let ahead = self.ahead?;
        let segment = &self.list[ahead.segment];
        let position = ahead.position(at, geometry);
        let is_moving = position < ahead.limit;
        (is_moving && segment.start <= start && start <= position).then(|| ahead.reaches(end, geometry).max(at))
    }

    /// Where the head is while it reads ahead.
    pub(super) fn position(&self, at: Ns, geometry: &Geometry) -> Option<u64> {
        self.ahead.map(|ahead| ahead.position(at, geometry))
    }

    /// Stops reading ahead; says where the head then is, unless it was not reading ahead.
    pub(super) fn interrupt(&mut self, at: Ns, geometry: &Geometry) -> Option<u64> {
        let ahead = self.ahead.take()?;
        let position = ahead.position(at, geometry);
        let segment = &mut self.list[ahead.segment];
        segment.end = position;
        segment.start = segment.start.max(position.saturating_sub(self.segment_bytes));
        Some(position)
    }

    /// Lets the pass that is under way go on beyond the end of a read that it serves.
    pub(super) fn stream_to(&mut self, end: u64) {
        let limit = self.limit_for(end);
        if let Some(ahead) = &mut self.ahead {
            ahead.limit = ahead.limit.max(limit).max(end);
            let index = ahead.segment;
            self.touch(index);
        }
    }

    /// A read from the platter ended at `at`: keep it, and read on from its end.
    pub(super) fn begin(&mut self, at: Ns, start: u64, end: u64) {
        if self.most == 0 {
            return;
        }
        let kept_from = start.max(end.saturating_sub(self.segment_bytes));
        let index = if let Some(index) = self.list.iter().position(|segment| segment.end == start) {
            self.list[index].end = end;
            self.list[index].start = self.list[index].start.max(end.saturating_sub(self.segment_bytes));
            index
        } else if self.list.len() < self.most {
            self.list.push(Segment { start: kept_from, end, used: 0 });
            self.list.len() - 1
        } else {
            let oldest = self.list.iter().enumerate().min_by_key(|(_, segment)| segment.used).map(|(index, _)| index);
            let index = oldest.expect("there is room for one segment at least");
            self.list[index] = Segment { start: kept_from, end, used: 0 };
            index
        };
        self.touch(index);
        self.ahead = Some(Ahead { segment: index, from: end, from_at: at, limit: self.limit_for(end) });
    }

    fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.list[index].used = self.uses;
    }

    fn limit_for(&self, end: u64) -> u64 {
        end.saturating_add(self.segment_bytes).min(self.disk_bytes.max(end))
    }

    /// Moves the limit on as the reader moves; a pass that had stopped starts again, at the next turn, when half of it is used up.
    fn read_on(&mut self, ahead: &mut Ahead, at: Ns, reader: u64, geometry: &Geometry, phase: Ns) {
        let limit = self.limit_for(reader);
        if limit <= ahead.limit {
            return;
        }
        let has_stopped = ahead.position(at, geometry) == ahead.limit;
        if has_stopped && ahead.limit - reader.min(ahead.limit) > self.segment_bytes / 2 {
            return;
        }
        if has_stopped {
            let wait = geometry.rotation_ns(geometry.media_ns(ahead.limit), at + phase);
            ahead.from = ahead.limit;
            ahead.from_at = at + wait;
        }
        ahead.limit = limit;
        let segment = &mut self.list[ahead.segment];
        segment.start = segment.start.max(reader.saturating_sub(self.segment_bytes));
    }
}

impl Ahead {
    fn position(&self, at: Ns, geometry: &Geometry) -> u64 {
        let passed = at.saturating_sub(self.from_at);
        geometry.byte_at(geometry.media_ns(self.from) + passed).clamp(self.from, self.limit.max(self.from))
    }

    fn reaches(&self, byte: u64, geometry: &Geometry) -> Ns {
        self.from_at + geometry.media_ns(byte).saturating_sub(geometry.media_ns(self.from))
    }
}
