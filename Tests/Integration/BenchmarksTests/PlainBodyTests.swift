import AppStore
import Benchmarks
import Randomness
import Testing

struct PlainBodyTests {
    @Test(arguments: [100, 101, 102, 103, 6000, 18_900]) func `a body has exactly the given size, and ingest accepts it`(
        bytes: Int
    ) throws {
        var generator = SeededGenerator(seed: UInt64(bytes))
        let body = PlainBody.make(bytes: bytes, using: &generator)
        #expect(body.count == bytes)
        try body.withUnsafeBytes { bytes in try NotificationBody.check(bytes) }
        #expect(body != PlainBody.make(bytes: bytes, using: &generator))
    }
}
