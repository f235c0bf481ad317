package import StrictJSON

/// An instant in Apple's form: whole milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Sendable {
    /// The accepted instants of a payload: from 1970 to the end of the year 9999, within PostgreSQL's range.
    package static let decodableMilliseconds: ClosedRange<Int64> = 0...253_402_300_799_999

    package var millisecondsSince1970: Int64

    /// Creates an instant without checking the range.
    package init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }

    /// Reads a JSON number, rounded down to a millisecond; `nil` outside `decodableMilliseconds`.
    package init?(_ number: JSONNumber) {
        guard let milliseconds = number.floored, Self.decodableMilliseconds.contains(milliseconds) else { return nil }
        self.init(millisecondsSince1970: milliseconds)
    }

    /// This instant moved by a duration, rounded down to a millisecond; saturates at the ends of `Int64`.
    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
        let fraction = attoseconds / attosecondsPerMillisecond - (attoseconds % attosecondsPerMillisecond < 0 ? 1 : 0)
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let limit: Int64 = seconds < 0 ? .min : .max
        guard !overflow else { return Timestamp(millisecondsSince1970: limit) }
        let (distance, overflow2) = whole.addingReportingOverflow(fraction)
        guard !overflow2 else { return Timestamp(millisecondsSince1970: limit) }
        let (sum, overflow3) = millisecondsSince1970.addingReportingOverflow(distance)
        return Timestamp(millisecondsSince1970: overflow3 ? limit : sum)
    }
}

extension Timestamp: Comparable {
    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }
}

extension Timestamp: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds: `2025-10-01T07:08:38.835Z`.
    package var description: String {
        let (days, millisecondOfDay) = millisecondsSince1970.flooredQuotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.civilDate(daysSince1970: days)
        let second = millisecondOfDay / 1000
        let date = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let time = "\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2)):\(Self.padded(second % 60, 2))"
        return "\(date)T\(time).\(Self.padded(millisecondOfDay % 1000, 3))Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Proleptic Gregorian date of a day number (the "days to civil" algorithm, with years beginning in March).
    private static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).flooredQuotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
