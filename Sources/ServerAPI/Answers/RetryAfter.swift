import AppStore
import Outbox

/// The Retry-After field of the App Store Server API: an instant in milliseconds since 1970. A gateway or a proxy sends seconds, an instant in
/// seconds, or a date.
enum RetryAfter {
    /// The longest delay. Apple counts by the hour.
    static let limit = Duration.seconds(3600)

    /// The delay that an answer asks for; nil when it asks for none, or for nonsense.
    ///
    /// - Parameter now: this machine's time, where the answer has no Date.
    static func delay(_ answer: HTTPAnswer, now: Timestamp) -> Duration? {
        guard let text = answer.retryAfter else { return nil }
        let now = answer.date.flatMap(HTTPDate.parse) ?? now
        var instant: Duration
        if text.allSatisfy({ $0.isASCII && $0.isNumber }), !text.isEmpty {
            guard let number = Int64(text) else { return nil }
            switch number {
            case ..<1_000_000_000: return min(.seconds(number), limit)
            // From 2001 to 5138. In milliseconds, that would be before 1973.
            case ..<100_000_000_000: instant = .seconds(number)
            default: instant = .milliseconds(number)
            }
        } else {
            guard let date = HTTPDate.parse(text) else { return nil }
            instant = .milliseconds(date.millisecondsSince1970)
        }
        instant -= .milliseconds(now.millisecondsSince1970)
        return min(max(instant, .zero), limit)
    }
}

/// Dates in HTTP fields (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The instant of `Sun, 06 Nov 1994 08:49:37 GMT`; nil for any other form.
    @Sendable static func parse(_ text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        return Timestamp(rfc3339: "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z".utf8)
    }
}
