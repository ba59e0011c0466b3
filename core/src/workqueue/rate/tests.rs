use super::*;

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

fn exponential(base: Duration, max: Duration) -> PerItem<&'static str> {
    PerItem::exponential(base, max)
}

#[test]
fn an_exponential_delay_never_falls_and_never_passes_its_maximum() {
    let longest = Duration::from_secs(1000);
    for base in
        [Duration::from_nanos(1), Duration::from_nanos(1 << 20), MILLIS(5), Duration::from_secs(1), Duration::MAX]
    {
        let mut limiter = exponential(base, longest);
        let mut last = Duration::ZERO;
        for failure in 1..=10_000 {
            let delay = limiter.when(Instant::ZERO, &"a");
            assert!(delay >= last && delay > Duration::ZERO && delay <= longest, "{base:?} after {failure}: {delay:?}");
            last = delay;
        }
        assert_eq!((last, limiter.num_requeues(&"a")), (longest, 10_000));
    }
}

#[test]
fn a_base_of_zero_never_waits_and_a_maximum_below_the_base_counts() {
    let mut zero = exponential(Duration::ZERO, MILLIS(10));
    let mut capped = exponential(MILLIS(10), MILLIS(1));
    for _ in 0..2_000 {
        assert_eq!(zero.when(Instant::ZERO, &"a"), Duration::ZERO);
        assert_eq!(capped.when(Instant::ZERO, &"a"), MILLIS(1));
    }
}

#[test]
fn a_bucket_spreads_what_comes_at_once_and_fills_up_again() {
    let mut bucket = Bucket::new(10.0, 3);
    let mut when = |now| RateLimiter::<&str>::when(&mut bucket, now, &"a");
    let start = Instant::from_millis(5);
    assert_eq!([(); 5].map(|()| when(start)), [0, 0, 0, 100, 200].map(MILLIS));
    assert_eq!([(); 4].map(|()| when(start + Duration::from_secs(3600))), [0, 0, 0, 100].map(MILLIS));
}

#[test]
fn a_bucket_without_rate_or_burst_ends_and_an_infinite_one_never_waits() {
    let mut bucket = Bucket::new(f64::NAN, 1);
    let second = Instant::from_millis(1000);
    assert!(bucket.allow(Instant::ZERO, 1) && !bucket.allow(second, 1));
    assert_eq!(RateLimiter::<&str>::when(&mut bucket, second, &"a"), NEVER);
    assert_eq!(Bucket::new(10.0, 0).reserve(second, 1), None);
    let mut infinite = Bucket::new(f64::INFINITY, 0);
    assert!((0..1_000).all(|_| infinite.allow(Instant::ZERO, u32::MAX)));
}

#[test]
fn a_cancelled_reservation_gives_back_what_nothing_was_built_upon() {
    let mut bucket = Bucket::new(10.0, 2);
    let now = Instant::ZERO;
    bucket.reserve(now, 2);
    let second = bucket.reserve(now, 2).unwrap();
    let third = bucket.reserve(now, 1).unwrap();
    assert_eq!((second.at(), third.at()), (Instant::from_millis(200), Instant::from_millis(300)));
    bucket.cancel(now, second);
    assert_eq!(bucket.reserve(now, 1).unwrap().at(), Instant::from_millis(300));
    // Its time has passed: there is nothing to give back.
    bucket.cancel(Instant::from_millis(400), third);
    assert_eq!(bucket.reserve(Instant::from_millis(400), 1).unwrap().at(), Instant::from_millis(400));
}

#[test]
fn a_combination_gives_the_longer_delay_and_counts_in_all_parts() {
    let fast_slow = PerItem::fast_slow(MILLIS(3), MILLIS(50), 2);
    let mut both = WithMaxWait::new(MaxOf::new(exponential(MILLIS(1), MILLIS(1000)), fast_slow), MILLIS(60));
    let delays = [(); 8].map(|()| both.when(Instant::ZERO, &"a"));
    assert_eq!(delays, [3, 3, 50, 50, 50, 50, 60, 60].map(MILLIS));
    assert_eq!((both.num_requeues(&"a"), both.tracked()), (8, 2));
    both.forget(&"a");
    assert_eq!((both.num_requeues(&"a"), both.tracked()), (0, 0));
}
