/// Reads a file line by line on threads that may block; trims the white space around each line.
struct FileLines {
    struct Line {
        /// Counted from 1.
        let number: Int
        /// Empty when it is too long.
        let bytes: [UInt8]
        let isTooLong: Bool
    }

    private let file: InputFile
    private let limit: Int
    private var buffer: [UInt8] = []
    /// The index of the next line in the buffer.
    private var position = 0
    private var number = 0
    private var isAtEnd = false

    private static let newline = UInt8(ascii: "\n")

    /// - Parameters:
    ///   - path: `-` for standard input.
    ///   - limit: bytes of the longest line.
    init(path: String, limit: Int) throws(InputFile.Unreadable) {
        self.limit = limit
        file = try InputFile(path: path)
    }

    /// The whole file, or nil when it is longer than `limit`. Call it before ``next()``, which still returns each line.
    mutating func wholeFile() async throws -> [UInt8]? {
        while !isAtEnd, buffer.count <= limit { try await fill() }
        return isAtEnd && buffer.count <= limit ? Self.trimmed(buffer[...]) : nil
    }

    /// The next line; nil at the end.
    mutating func next() async throws -> Line? {
        var searched = position
        var isTooLong = false
        while true {
            if let end = buffer[searched...].firstIndex(of: Self.newline) { return take(to: end, skipping: 1, isTooLong) }
            if isAtEnd { return position < buffer.count || isTooLong ? take(to: buffer.count, skipping: 0, isTooLong) : nil }
            if buffer.count - position > limit {
                // The line is too long: drop these bytes and read on to its end.
                isTooLong = true
                position = buffer.count
            }
            buffer.removeFirst(position)
            position = 0
            searched = buffer.count
            try await fill()
        }
    }

    private mutating func take(to end: Int, skipping separator: Int, _ isTooLong: Bool) -> Line {
        let bytes = buffer[position..<end]
        position = end + separator
        number += 1
        return Line(number: number, bytes: isTooLong ? [] : Self.trimmed(bytes), isTooLong: isTooLong || bytes.count > limit)
    }

    private mutating func fill() async throws {
        let bytes = try await file.read()
        isAtEnd = bytes.isEmpty
        buffer += bytes
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) }) else { return [] }
        return Array(bytes[first...last])
    }
}
