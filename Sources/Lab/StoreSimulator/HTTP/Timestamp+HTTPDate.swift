import AppStore

extension Timestamp {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The form of the header `Date` (RFC 9110 §5.6.7), for an instant since 1970.
    var httpDate: String {
        let text = description
        let date = text.prefix(10).split(separator: "-")
        // 1970 began on a Thursday.
        let weekday = Self.weekdays[Int((millisecondsSince1970 / 86_400_000 + 4) % 7)]
        let month = Self.months[(Int(date[1]) ?? 1) - 1]
        return "\(weekday), \(date[2]) \(month) \(date[0]) \(text.dropFirst(11).prefix(8)) GMT"
    }
}
