/// Splits CSV (RFC 4180) into records, as its bytes come in. Lines may also end with a line feed or a carriage return alone.
struct CSVParser {
    struct Record: Hashable {
        /// The line on which it begins, counted from 1.
        let line: Int
        /// The line on which it ends.
        var lastLine: Int
        var fields: [[UInt8]] = []
        /// Why it has no usable fields.
        var flaw: String?
    }

    private enum Position {
        case fieldStart, unquoted, quoted
        /// After a quote inside quotes: the end of the field, or half of an escaped quote.
        case afterQuote
        /// The rest of a record with a flaw.
        case skipping
    }

    /// Bytes of the longest record. A quote without its end would otherwise take in the rest of the file.
    static let limit = 8192

    private var position = Position.fieldStart
    private var line = 1
    private var record = Record(line: 1, lastLine: 1)
    private var field: [UInt8] = []
    private var size = 0
    private var endedWithReturn = false
    private var isAtBeginning = true

    /// The records that end in these bytes, which follow those before. Empty lines are none.
    mutating func parse(_ bytes: [UInt8]) -> [Record] {
        var records: [Record] = []
        for byte in bytes {
            if endedWithReturn {
                endedWithReturn = false
                if byte == UInt8(ascii: "\n") { continue }
            }
            if let record = take(byte) { records.append(record) }
        }
        return records
    }

    /// The record that ends with the file; nil where its last line had an end.
    mutating func finish() -> Record? {
        if position == .quoted { record.flaw = "a quote has no end" }
        let endsWithLine = field.last == UInt8(ascii: "\n") || field.last == UInt8(ascii: "\r")
        return end(on: endsWithLine ? line - 1 : line)
    }

    private mutating func take(_ byte: UInt8) -> Record? {
        let isEnd = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        if isEnd { line += 1 }
        size += 1
        switch position {
        case .quoted where size > Self.limit:
            refuse("a quote has no end within \(Self.limit) bytes")
        case .quoted:
            if byte == UInt8(ascii: "\"") { position = .afterQuote } else { field.append(byte) }
            // A CR LF inside quotes is one line end.
            endedWithReturn = false
            if byte == UInt8(ascii: "\r") { line -= 1 }
            return nil
        case .skipping: break
        case _ where size > Self.limit: refuse("it is longer than \(Self.limit) bytes")
        case .afterQuote where byte == UInt8(ascii: "\""):
            field.append(byte)
            position = .quoted
            return nil
        case .afterQuote where byte != UInt8(ascii: ",") && !isEnd: refuse("there is text after a closing quote")
        case .fieldStart where byte == UInt8(ascii: "\""):
            position = .quoted
            return nil
        case .unquoted where byte == UInt8(ascii: "\""): refuse("there is a quote inside a field without quotes")
        case .fieldStart, .unquoted, .afterQuote:
            if byte == UInt8(ascii: ",") {
                endField()
                return nil
            }
            if !isEnd {
                field.append(byte)
                position = .unquoted
                dropByteOrderMark()
                return nil
            }
        }
        guard isEnd else { return nil }
        endedWithReturn = byte == UInt8(ascii: "\r")
        return end(on: line - 1)
    }

    /// The mark before the first field, which may be quoted.
    private mutating func dropByteOrderMark() {
        guard isAtBeginning, field.count == 3 else { return }
        isAtBeginning = false
        guard field == [0xEF, 0xBB, 0xBF] else { return }
        field = []
        position = .fieldStart
    }

    private mutating func endField() {
        record.fields.append(field)
        field = []
        position = .fieldStart
    }

    private mutating func refuse(_ flaw: String) {
        record.flaw = flaw
        position = .skipping
    }

    private mutating func end(on lastLine: Int) -> Record? {
        record.lastLine = lastLine
        isAtBeginning = false
        let isEmpty = record.fields.isEmpty && field.isEmpty && position == .fieldStart && record.flaw == nil
        endField()
        defer {
            record = Record(line: line, lastLine: line)
            size = 0
        }
        return isEmpty ? nil : record
    }
}
