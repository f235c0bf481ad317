/// A JSON number, kept as its source text so that no digit is lost.
package struct JSONNumber: Hashable, Sendable {
    /// The source text, in RFC 8259 grammar.
    package let text: String

    package init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// Creates a number from text that the scanner has validated.
    init(validatedText: String) {
        text = validatedText
    }

    /// The value, when it is an integer in the range of `Int64`; `12`, `12.0` and `1.2e1` are the same integer.
    package var int64: Int64? {
        if let value = Int64(text) { return value }
        return Decimal(text).value(rounding: .never)
    }

    /// Whether PostgreSQL's `numeric` holds it: 131,072 digits before the point and 16,383 after it (datatype-numeric.html).
    package var fitsNumeric: Bool {
        let decimal = Decimal(text)
        return decimal.digits.count + decimal.exponent <= 131_072 && decimal.exponent >= -16_383
    }

    /// The value rounded down, when it is in the range of `Int64`.
    package var floored: Int64? {
        if let value = Int64(text) { return value }
        return Decimal(text).value(rounding: .down)
    }
}

extension JSONNumber {
    /// A parsed number: ±digits × 10^exponent.
    private struct Decimal {
        enum Rounding { case never, down }

        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0

        init(_ text: String) {
            var bytes = text.utf8[...]
            if bytes.first == UInt8(ascii: "-") {
                isNegative = true
                bytes.removeFirst()
            }
            let mantissa = bytes.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let integer = mantissa.prefix { $0 != UInt8(ascii: ".") }
            let fraction = mantissa.dropFirst(integer.count + 1)
            digits = (Array(integer) + Array(fraction)).drop { $0 == UInt8(ascii: "0") }.map { $0 - UInt8(ascii: "0") }
            exponent = Self.exponent(bytes.dropFirst(mantissa.count + 1)) - fraction.count
        }

        /// Saturates at a billion, so that sums cannot overflow; no text has that many digits.
        private static func exponent(_ bytes: Substring.UTF8View) -> Int {
            guard let first = bytes.first else { return 0 }
            let digits = bytes.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            let magnitude = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1_000_000_000) }
            return first == UInt8(ascii: "-") ? -magnitude : magnitude
        }

        func value(rounding: Rounding) -> Int64? {
            guard !digits.isEmpty else { return 0 }
            let kept = digits.count + min(exponent, 0)
            let hasFraction = exponent < 0 && digits.suffix(digits.count - max(kept, 0)).contains { $0 != 0 }
            if hasFraction && rounding == .never { return nil }
            let zeros = max(exponent, 0)
            guard kept + zeros <= 19 else { return nil }
            var magnitude: UInt64 = digits.prefix(max(kept, 0)).reduce(0) { $0 * 10 + UInt64($1) }
            for _ in 0..<zeros { magnitude *= 10 }
            if isNegative && hasFraction { magnitude += 1 }
            return isNegative ? Int64(exactly: -Int128(magnitude)) : Int64(exactly: magnitude)
        }
    }
}
