import AppStore
import Randomness
import Testing

struct TimestampTextTests {
    @Test(
        arguments: [
            ("2019-12-10T12:54:58Z", 1_575_982_498_000), ("1970-01-01T00:00:00Z", 0), ("4001-01-01T00:00:00Z", 64_092_211_200_000),
            ("2024-02-29t23:59:59.9996z", 1_709_251_199_999), ("2019-12-10T12:54:58.5+01:30", 1_575_977_098_500),
            ("2019-12-10 12:54:58-08:00", 1_576_011_298_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] as [(String, Int64)]
    ) func `RFC 3339 dates are parsed`(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: Array(text.utf8))?.millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: [
        "", "2019-12-10", "2019-12-10T12:54:58", "2019-13-10T12:54:58Z", "2019-02-29T12:54:58Z", "2100-02-29T00:00:00Z",
        "2019-12-00T00:00:00Z",
        "2019-12-10T24:00:00Z", "2019-12-10T12:60:00Z", "2019-12-10T12:54:61Z", "2019-12-10T12:54:58.Z", "2019-12-10T12:54:58ZZ",
        "1969-12-31T23:59:59Z", "+019-12-10T12:54:58Z", "2019-12-10T12:54:58+24:00", "٢٠١٩-12-10T12:54:58Z",
    ]) func `other text is refused`(text: String) {
        #expect(Timestamp(rfc3339: Array(text.utf8)) == nil)
    }

    @Test func `verifyReceipt's dates are parsed only in GMT`() {
        #expect(Timestamp(etcGMT: "2019-12-10 12:54:58 Etc/GMT")?.millisecondsSince1970 == 1_575_982_498_000)
        #expect(Timestamp(etcGMT: "2019-12-10 04:54:58 America/Los_Angeles") == nil)
        #expect(Timestamp(etcGMT: " Etc/GMT") == nil)
    }

    @Test(arguments: 1...20) func `a formatted date is parsed again`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<500 {
            let instant = Timestamp(millisecondsSince1970: .random(in: Timestamp.decodableMilliseconds, using: &generator))
            #expect(Timestamp(rfc3339: Array("\(instant)".utf8)) == instant, "seed \(seed)")
        }
    }
}
