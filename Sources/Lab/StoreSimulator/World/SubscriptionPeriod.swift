package import AppStore
import FoundationEssentials

/// The period that one payment of a subscription covers.
package enum SubscriptionPeriod: Hashable, Sendable {
    /// As in Apple's Sandbox, where a month passes in minutes.
    case minutes(Int)
    case days(Int)
    case weeks(Int)
    /// Calendar months in UTC; a day that a shorter month lacks becomes its last day.
    case months(Int)
    case years(Int)

    /// The end of a period that begins at `start`.
    package func end(from start: Timestamp) -> Timestamp {
        switch self {
        case .minutes(let count): start.advanced(by: .seconds(60 * count))
        case .days(let count): start.advanced(by: .seconds(86_400 * count))
        case .weeks(let count): start.advanced(by: .seconds(7 * 86_400 * count))
        case .months(let count): Self.adding(months: count, to: start)
        case .years(let count): Self.adding(months: 12 * count, to: start)
        }
    }

    /// A number of these periods.
    func times(_ count: Int) -> SubscriptionPeriod {
        switch self {
        case .minutes(let minutes): .minutes(minutes * count)
        case .days(let days): .days(days * count)
        case .weeks(let weeks): .weeks(weeks * count)
        case .months(let months): .months(months * count)
        case .years(let years): .years(years * count)
        }
    }

    /// The length in ISO 8601, as in `offerPeriod`.
    package var iso8601: String {
        switch self {
        case .minutes(let count): "PT\(count)M"
        case .days(let count): "P\(count)D"
        case .weeks(let count): "P\(count)W"
        case .months(let count): "P\(count)M"
        case .years(let count): "P\(count)Y"
        }
    }

    /// `Calendar` gets whole seconds: a `Date` would hold the milliseconds as a rounded fraction.
    private static func adding(months: Int, to start: Timestamp) -> Timestamp {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let (seconds, milliseconds) = start.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
        let date = Date(timeIntervalSince1970: Double(seconds))
        guard let end = calendar.date(byAdding: .month, value: months, to: date) else { return start }
        return Timestamp(millisecondsSince1970: Int64(end.timeIntervalSince1970) * 1000 + milliseconds)
    }
}
