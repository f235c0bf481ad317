import FoundationEssentials
import Synchronization

/// The Date field of answers.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let latest = Mutex((second: Int.min, text: ""))

    /// The current second; formatted once per second.
    static var now: String {
        let date = Date.now
        let second = Int(date.timeIntervalSince1970)
        return latest.withLock { latest in
            if latest.second != second { latest = (second, string(from: date)) }
            return latest.text
        }
    }

    /// An instant in the format of RFC 9110, section 5.6.7.
    static func string(from date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        let day = days[(parts.weekday ?? 1) - 1]
        let month = months[(parts.month ?? 1) - 1]
        let time = [parts.hour, parts.minute, parts.second].map { padded($0) }.joined(separator: ":")
        return "\(day), \(padded(parts.day)) \(month) \(parts.year ?? 1970) \(time) GMT"
    }

    private static func padded(_ number: Int?) -> String {
        let number = number ?? 0
        return number < 10 ? "0\(number)" : "\(number)"
    }
}
