import AppStore
import StrictJSON
import Testing

struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_759_302_518_835, "2025-10-01T07:08:38.835Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func `an instant is described in RFC 3339 form`(milliseconds: Int64, text: String) {
        #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
    }

    @Test(arguments: [
        ("1.9", 1), ("1e3", 1000), ("1759302518835.75", 1_759_302_518_835), ("253402300799999", 253_402_300_799_999), ("0", 0),
    ])
    func `a JSON number is rounded down to milliseconds`(text: String, milliseconds: Int64) throws {
        #expect(try timestamp(text)?.millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: ["-1", "-0.1", "253402300800000", "1e300", "99999999999999999999"])
    func `a JSON number outside 1970 to 9999 is refused`(text: String) throws {
        #expect(try timestamp(text) == nil)
    }

    @Test(
        arguments: [
            (1000, Duration.seconds(300), 301_000), (1000, .milliseconds(-1500), -500), (0, .microseconds(1999), 1),
            (0, .microseconds(-1), -1),
            (Int64.max, .seconds(1), Int64.max), (Int64.min, .seconds(-1), Int64.min), (0, .seconds(Int64.max), Int64.max),
        ])
    func `an instant moves by a duration and saturates`(start: Int64, duration: Duration, end: Int64) {
        #expect(Timestamp(millisecondsSince1970: start).advanced(by: duration).millisecondsSince1970 == end)
    }

    @Test func `instants are ordered by time`() {
        #expect(Timestamp(millisecondsSince1970: 1000) < Timestamp(millisecondsSince1970: 2500))
    }

    private func timestamp(_ text: String) throws -> Timestamp? {
        guard case .number(let number) = try JSONParser().parse(Array(text.utf8)) else { return nil }
        return Timestamp(number)
    }
}
