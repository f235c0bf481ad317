package import AppStore
import Postgres

/// When a key expires: an instant, or a time from its creation on, which the database measures.
package enum KeyEnd: Hashable, Sendable {
    case at(Timestamp)
    case after(seconds: Int64)

    /// The units of a duration, in seconds.
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    /// A hundred years.
    private static let longest: Int64 = 36_525 * 86_400

    /// Parses `2027-01-31T12:00:00Z`, `2027-01-31` (its beginning in UTC), or a whole number of s, m, h, d or w, such as `90d`; nil for other
    /// text, and for a duration of more than a hundred years.
    package init?(_ text: String) {
        if let instant = Timestamp(rfc3339: Array(text.utf8)) ?? Timestamp(rfc3339: Array("\(text)T00:00:00Z".utf8)) {
            self = .at(instant)
        } else if let unit = text.last.flatMap({ Self.units[$0] }), let count = Int64(text.dropLast()),
            (1...Self.longest / unit).contains(count)
        {
            self = .after(seconds: count * unit)
        } else {
            return nil
        }
    }

    var instant: PostgresTimestamp? {
        if case .at(let instant) = self { PostgresTimestamp(millisecondsSince1970: instant.millisecondsSince1970) } else { nil }
    }

    var duration: Duration? {
        if case .after(let seconds) = self { .seconds(seconds) } else { nil }
    }
}
