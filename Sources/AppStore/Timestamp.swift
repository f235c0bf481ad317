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

extension Timestamp {
    /// Parses an RFC 3339 §5.6 date, `2019-12-10T12:54:58Z`, rounded down to a millisecond.
    ///
    /// Nil for other text, impossible dates, and dates outside `decodableMilliseconds`.
    package init?(rfc3339 text: some Collection<UInt8>) {
        var fields = DateFields(Array(text))
        guard let days = fields.date(), fields.accept(anyOf: "Tt "), let milliseconds = fields.time(), let offset = fields.offset(),
            fields.isAtEnd
        else { return nil }
        self.init(days: days, milliseconds: milliseconds, offsetMinutes: offset)
    }

    /// Parses a date in verifyReceipt's form, `2019-12-10 12:54:58 Etc/GMT`; nil for other text or another zone.
    package init?(etcGMT text: String) {
        let zone = " Etc/GMT"
        guard text.hasSuffix(zone) else { return nil }
        self.init(rfc3339: Array(text.utf8.dropLast(zone.utf8.count)) + [UInt8(ascii: "Z")])
    }

    private init?(days: Int64, milliseconds: Int64, offsetMinutes: Int64) {
        let instant = days * 86_400_000 + milliseconds - offsetMinutes * 60_000
        guard Self.decodableMilliseconds.contains(instant) else { return nil }
        self.init(millisecondsSince1970: instant)
    }
}

/// A cursor over the digits and separators of a date.
private struct DateFields {
    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) {
        self.text = text
    }

    var isAtEnd: Bool { position == text.count }

    mutating func accept(anyOf separators: StaticString) -> Bool {
        guard position < text.count else { return false }
        let matches = (0..<separators.utf8CodeUnitCount).contains { separators.utf8Start[$0] == text[position] }
        if matches { position += 1 }
        return matches
    }

    private mutating func number(_ digits: Int) -> Int64? {
        guard text.count - position >= digits else { return nil }
        var number: Int64 = 0
        for byte in text[position..<position + digits] {
            guard byte &- UInt8(ascii: "0") < 10 else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        position += digits
        return number
    }

    /// Days since 1970 (the "civil to days" algorithm, with years beginning in March).
    mutating func date() -> Int64? {
        guard let year = number(4), accept(anyOf: "-"), let month = number(2), accept(anyOf: "-"), let day = number(2),
            (1...12).contains(month), day >= 1, day <= Self.days(of: month, in: year)
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear < 0 ? shiftedYear - 399 : shiftedYear) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func days(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Milliseconds since midnight; a leap second counts as the first one of the next minute.
    mutating func time() -> Int64? {
        guard let hour = number(2), accept(anyOf: ":"), let minute = number(2), accept(anyOf: ":"), let second = number(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if accept(anyOf: ".") {
            let start = position
            while let digit = number(1) {
                if position - start <= 3 { fraction = fraction * 10 + digit }
            }
            guard position > start else { return nil }
            for _ in min(position - start, 3)..<3 { fraction *= 10 }
        }
        return ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    }

    /// Offset from UTC in minutes, positive to the east.
    mutating func offset() -> Int64? {
        if accept(anyOf: "Zz") { return 0 }
        let isWest = position < text.count && text[position] == UInt8(ascii: "-")
        guard accept(anyOf: "+-"), let hours = number(2), accept(anyOf: ":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
}

extension JSONValue {
    /// A date in Apple's form, milliseconds since 1970.
    package static func timestamp(_ value: Timestamp) -> JSONValue {
        .number(JSONNumber(value.millisecondsSince1970))
    }
}
