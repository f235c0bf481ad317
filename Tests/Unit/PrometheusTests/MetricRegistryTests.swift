import Metrics
import PrometheusTesting
import Synchronization
import Testing

@testable import ServiceSupport

@Suite struct MetricRegistryTests {
    private let registry = MetricRegistry([
        MetricDescription("shop_visits_total", .counter, "Visits."),
        MetricDescription("shop_visitors", .gauge, "Who is inside."),
        MetricDescription("shop_visit_seconds", .histogram(bounds: [0.5, 1, 10]), "How long visits take."),
        MetricDescription("shop_basket_items", .histogram(bounds: [1, 5]), "Items in a basket."),
    ])

    @Test func `the text has the shape of the format, in a stable order`() {
        Counter(label: "shop_visits_total", dimensions: [("door", "south"), ("age", "7")], factory: registry).increment(by: 2)
        Counter(label: "shop_visits_total", dimensions: [("door", "north"), ("age", "7")], factory: registry).increment()
        Gauge(label: "shop_visitors", factory: registry).record(1.5)
        let timer = Timer(label: "shop_visit_seconds", factory: registry)
        timer.record(duration: .milliseconds(500))
        timer.record(duration: .seconds(2))
        timer.record(duration: .seconds(11))
        #expect(
            registry.render() == """
                # HELP shop_basket_items Items in a basket.
                # TYPE shop_basket_items histogram
                # HELP shop_visit_seconds How long visits take.
                # TYPE shop_visit_seconds histogram
                shop_visit_seconds_bucket{le="0.5"} 1
                shop_visit_seconds_bucket{le="1"} 1
                shop_visit_seconds_bucket{le="10"} 2
                shop_visit_seconds_bucket{le="+Inf"} 3
                shop_visit_seconds_sum 13.5
                shop_visit_seconds_count 3
                # HELP shop_visitors Who is inside.
                # TYPE shop_visitors gauge
                shop_visitors 1.5
                # HELP shop_visits_total Visits.
                # TYPE shop_visits_total counter
                shop_visits_total{age="7",door="north"} 1
                shop_visits_total{age="7",door="south"} 2

                """
        )
    }

    @Test func `the same name and labels, in any order, are one series`() throws {
        Counter(label: "shop_visits_total", dimensions: [("a", "1"), ("b", "2")], factory: registry).increment()
        Counter(label: "shop_visits_total", dimensions: [("b", "2"), ("a", "1")], factory: registry).increment()
        #expect(try ExposedMetrics(registry.render()).value("shop_visits_total", ["a": "1", "b": "2"]) == 2)
    }

    @Test func `series whose labels come and go are those of the moment`() throws {
        let names = Mutex(["b", "a\"\n"])
        registry.observe("shop_visitors", each: { names.withLock { $0 }.map { MetricRegistry.Sample([("room", $0)], 1) } })
        #expect(registry.render().contains("shop_visitors{room=\"a\\\"\\n\"} 1\nshop_visitors{room=\"b\"} 1\n"))
        names.withLock { $0 = [] }
        #expect(!registry.render().contains("room"))
        registry.observe("shop_unknown", each: { [] })
        registry.observe("shop_visit_seconds", each: { [] })
        #expect(registry.undescribed == ["shop_unknown", "shop_visit_seconds"])
    }

    @Test func `a counter never falls`() throws {
        let counter = Counter(label: "shop_visits_total", factory: registry)
        counter.increment(by: 5)
        counter.increment(by: -3)
        #expect(try ExposedMetrics(registry.render()).value("shop_visits_total") == 5)
    }

    @Test func `a gauge rises, falls and is set`() throws {
        let meter = Meter(label: "shop_visitors", factory: registry)
        meter.increment(by: 3)
        meter.decrement()
        #expect(try ExposedMetrics(registry.render()).value("shop_visitors") == 2)
        meter.set(-0.25)
        #expect(try ExposedMetrics(registry.render()).value("shop_visitors") == -0.25)
    }

    @Test func `a value equal to a bound belongs to its bucket, and NaN to none`() throws {
        let items = Recorder(label: "shop_basket_items", factory: registry)
        for count in [1, 5, 6] { items.record(count) }
        items.record(Double.nan)
        items.record(Double.infinity)
        let metrics = try ExposedMetrics(registry.render())
        let buckets = metrics.families["shop_basket_items"]?.samples.filter { $0.name.hasSuffix("_bucket") }.map(\.value)
        #expect(buckets == [1, 2, 3])
        #expect(metrics.sum("shop_basket_items") == 12)
    }

    @Test func `a sum of durations is exact to the nanosecond`() throws {
        let timer = Timer(label: "shop_visit_seconds", factory: registry)
        timer.recordNanoseconds(8_000_000_000_000_000)
        for _ in 0..<1000 { timer.recordNanoseconds(1) }
        // In floating-point seconds, each of these nanoseconds would be lost by rounding.
        #expect(try ExposedMetrics(registry.render()).sum("shop_visit_seconds") == 8_000_000.000001)
    }

    @Test func `a sum of durations does not overflow`() throws {
        let timer = Timer(label: "shop_visit_seconds", factory: registry)
        for _ in 0..<10_000 { timer.record(duration: .seconds(30 * 86_400)) }
        #expect(try ExposedMetrics(registry.render()).sum("shop_visit_seconds") == 10_000 * 30 * 86_400)
    }

    @Test func `an observed value is read at each rendering, and left out while it is unknown`() throws {
        let visitors = Shown()
        registry.observe("shop_visitors", [("floor", "1")]) { visitors.value }
        #expect(try ExposedMetrics(registry.render()).families["shop_visitors"]?.samples.isEmpty == true)
        visitors.value = 4
        #expect(try ExposedMetrics(registry.render()).value("shop_visitors", ["floor": "1"]) == 4)
    }

    @Test func `a metric without a description, or of another type, is reported instead of exposed`() throws {
        Counter(label: "shop_thefts_total", factory: registry).increment()
        Timer(label: "shop_visits_total", factory: registry).record(duration: .seconds(1))
        Recorder(label: "shop_visitors", factory: registry).record(1)
        registry.observe("shop_visit_seconds") { 1 }
        #expect(registry.undescribed == ["shop_thefts_total", "shop_visits_total", "shop_visitors", "shop_visit_seconds"])
        #expect(try ExposedMetrics(registry.render()).families.values.allSatisfy(\.samples.isEmpty))
    }

    @Test func `concurrent counting loses nothing, and each rendering is consistent`() async throws {
        let counter = Counter(label: "shop_visits_total", factory: registry)
        let timer = Timer(label: "shop_visit_seconds", factory: registry)
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        timer.record(duration: .seconds(1))
                    }
                }
            }
            group.addTask {
                // The parser checks that the count of a histogram is that of its last bucket.
                for _ in 0..<50 { _ = try ExposedMetrics(registry.render()) }
            }
            try await group.waitForAll()
        }
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.value("shop_visits_total") == 8000)
        #expect(metrics.count("shop_visit_seconds") == 8000)
        #expect(metrics.sum("shop_visit_seconds") == 8000)
    }
}

/// A value that a test changes.
private final class Shown: Sendable {
    private let current = Mutex<Double?>(nil)

    var value: Double? {
        get { current.withLock(\.self) }
        set { current.withLock { $0 = newValue } }
    }
}
