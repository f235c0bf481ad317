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
