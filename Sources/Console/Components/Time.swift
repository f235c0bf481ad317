import AppStore
import FoundationEssentials
package import HTML
package import Postgres

/// An instant in UTC; console.js shows it in the time of the browser and keeps UTC as its title.
package func timeOf(_ instant: PostgresTimestamp?) -> Markup {
    guard let instant else { return .text("–") }
    let text = "\(Timestamp(millisecondsSince1970: instant.millisecondsSince1970))"
    return time(.datetime(text)) { utcText(instant) + " UTC" }
}

/// An instant in UTC to the second: `2026-11-26 02:37:46`.
func utcText(_ instant: PostgresTimestamp) -> String {
    String("\(Timestamp(millisecondsSince1970: instant.millisecondsSince1970))".prefix(19)).replacing("T", with: " ")
}

/// A time span in its two largest units: "2 d 8 h".
package func gap(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    let units: [(name: String, length: Int64)] = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
    guard let index = units.firstIndex(where: { seconds.magnitude >= $0.length.magnitude }) else {
        return "\(duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000) ms"
    }
    let first = units[index]
    let rest = index + 1 < units.count ? seconds % first.length / units[index + 1].length : 0
    return "\(seconds / first.length) \(first.name)" + (rest == 0 ? "" : " \(abs(rest)) \(units[index + 1].name)")
}

/// The time from one instant to another.
package func gap(from start: PostgresTimestamp, to end: PostgresTimestamp) -> Duration {
    .microseconds(end.microsecondsSince2000 - start.microsecondsSince2000)
}

extension PostgresTimestamp {
    /// The time of this machine.
    static var now: PostgresTimestamp { PostgresTimestamp(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1000)) }
}
