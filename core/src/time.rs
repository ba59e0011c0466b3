//! Time as the core sees it: told, never read.
//!
//! A controller needs two clocks. Deadlines (back-off, watch silence, lease renewal) must survive a
//! wall clock that jumps, so they live on a monotonic [`Instant`]. What the API expresses in wall time
//! (readiness, conditions, leases) is compared with a [`Timestamp`]. Both arrive together as [`Now`].

use alloc::string::String;
use core::fmt;
use core::ops::{Add, AddAssign};
use core::time::Duration;

/// A point on a monotonic clock: nanoseconds since a start the caller chooses.
///
/// Only differences mean anything. The range is some 584 years; arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the clock.
    pub const ZERO: Self = Self(0);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

/// A point on the wall clock: nanoseconds since 1970-01-01T00:00:00Z, before it negative.
///
/// Covers the years 1678 to 2261; what lies outside is clamped to the outermost whole second. Objects of the API carry whole seconds
/// (`metav1.Time`) or microseconds (`metav1.MicroTime`); the clock itself has nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(0);

    /// The time `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The time `seconds` seconds after the epoch.
    pub const fn from_seconds(seconds: i64) -> Self {
        const MOST: i64 = i64::MAX / 1_000_000_000;
        let clamped = if seconds > MOST {
            MOST
        } else if seconds < -MOST {
            -MOST
        } else {
            seconds
        };
        Self(clamped * 1_000_000_000)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// Reads an RFC 3339 time, the only form that the API writes. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let time: jiff::Timestamp = Some(text).filter(|text| is_rfc3339(text.as_bytes()))?.parse().ok()?;
        Some(i64::try_from(time.as_nanosecond()).map_or_else(|_| Self::from_seconds(time.as_second()), Self))
    }

    /// The time from `earlier` to `self` in nanoseconds, negative if `earlier` is later. Saturates.
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Writes the time with microseconds, always six digits, as `metav1.MicroTime` must be written.
    pub fn to_micro_string(self) -> String {
        alloc::format!("{:.6}", self.to_jiff())
    }

    fn to_jiff(self) -> jiff::Timestamp {
        // Every i64 of nanoseconds lies within jiff's range of years -9999 to 9999.
        jiff::Timestamp::from_nanosecond(i128::from(self.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

/// Whether a text has the form of RFC 3339, section 5.6. Whether there is such a day and hour is not looked at.
fn is_rfc3339(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_at_checked(DATE.len()) else { return false };
    let fraction = rest.strip_prefix(b".").map(|rest| rest.iter().take_while(|c| c.is_ascii_digit()).count());
    let offset = &rest[fraction.map_or(0, |digits| 1 + digits)..];
    fraction != Some(0)
        && has_form(date, DATE)
        && (has_form(offset, b"Z") || OFFSETS.iter().any(|o| has_form(offset, o)))
}

const DATE: &[u8] = b"0000-00-00T00:00:00";
const OFFSETS: [&[u8]; 2] = [b"+00:00", b"-00:00"];

/// Whether a text is as `form`, in which a zero stands for a digit and a letter for itself in either case.
fn has_form(text: &[u8], form: &[u8]) -> bool {
    let is_like = |(c, wanted): (&u8, &u8)| match wanted {
        b'0' => c.is_ascii_digit(),
        wanted => c.eq_ignore_ascii_case(wanted),
    };
    text.len() == form.len() && text.iter().zip(form).all(is_like)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(rhs.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    /// Writes the time in whole seconds, rounded down, as `metav1.Time` is written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", Self::from_seconds(self.as_seconds()).to_jiff())
    }
}

/// Both clocks at one moment; the first argument of everything that depends on time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock. Must not run backwards between calls; if it does, deadlines come late.
    pub instant: Instant,
    /// The wall clock. May jump.
    pub wall: Timestamp,
}

impl Now {
    /// Both clocks `duration` later.
    pub fn after(self, duration: Duration) -> Self {
        Self { instant: self.instant + duration, wall: self.wall + duration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn timestamps_print_as_they_were_read() {
        for text in ["2026-03-14T09:26:53Z", "1969-12-31T23:59:59Z", "2261-01-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_offset_is_converted_to_utc_and_fractions_are_kept() {
        let time = Timestamp::parse("2026-03-14T10:26:53.5+01:00").unwrap();
        assert_eq!(time.to_string(), "2026-03-14T09:26:53Z");
        assert_eq!(time.to_micro_string(), "2026-03-14T09:26:53.500000Z");
        assert_eq!(time.as_nanos() % 1_000_000_000, 500_000_000);
    }

    #[test]
    fn times_out_of_range_are_clamped_and_nonsense_is_refused() {
        for (far, outermost) in
            [("0001-01-01T00:00:00Z", "1677-09-21T00:12:44Z"), ("9999-01-01T00:00:00Z", "2262-04-11T23:47:16Z")]
        {
            let clamped = Timestamp::parse(far).unwrap();
            assert_eq!((clamped.to_string().as_str(), Timestamp::parse(outermost)), (outermost, Some(clamped)));
        }
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::parse(""), None);
        Timestamp::from_nanos(i64::MIN).to_string();
    }

    #[test]
    fn a_time_in_another_form_than_that_of_rfc_3339_is_refused() {
        for text in [
            "2026-03-14 09:26:53Z",
            "20260314T092653Z",
            "2026-03-14T09:26Z",
            "2026-03-14T09:26:53,5Z",
            "2026-03-14T09:26:53.Z",
            "2026-03-14T09:26:53+01",
            "2026-03-14T09:26:53+01:00[Europe/Berlin]",
            "+002026-03-14T09:26:53Z",
            "2026-03-14T09:26:53",
            "2026-02-30T09:26:53Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
        let leap_second = Timestamp::parse("2016-12-31t23:59:60z").unwrap();
        assert_eq!(leap_second.to_string(), "2016-12-31T23:59:59Z");
    }

    #[test]
    fn instants_saturate() {
        assert_eq!(Instant::from_nanos(5).since(Instant::from_nanos(9)), Duration::ZERO);
        assert_eq!((Instant::from_nanos(5) + Duration::MAX).as_nanos(), u64::MAX);
    }
}
