import Benchmarks
import Testing

struct SamplesTests {
    @Test(arguments: [
        ([3.0, 1, 2], 2.0), ([4.0, 1, 3, 2], 2.5), ([7.0], 7.0), ([], 0.0), ([1.0, 1, 1, 100], 1.0),
    ]) func `the median is the middle value, or the mean of the two in the middle`(values: [Double], median: Double) {
        #expect(Samples(values).median == median)
    }

    @Test func `a percentile follows the nearest-rank method`() {
        let hundred = Samples((1...100).map(Double.init).shuffled())
        #expect(hundred.percentile(50) == 50)
        #expect(hundred.percentile(99) == 99)
        #expect(hundred.percentile(100) == 100)
        #expect(hundred.percentile(0) == 1)
        #expect(Samples([5, 1]).percentile(99) == 5)
        #expect(Samples([]).percentile(99) == 0)
    }
}
