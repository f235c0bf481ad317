/// An address on the console: an absolute path on the same origin, and a query. No other address can be put into a link or a form.
struct ConsoleURL: Hashable, Sendable, CustomStringConvertible {
    private let path: String
    private var query = ""
    private var place = ""

    /// - Parameter segments: the segments of the path, which are encoded; none for the first page.
    init(_ segments: String...) {
        self.init(segments: segments)
    }

    init(segments: [String]) {
        path = segments.isEmpty ? "/" : segments.map { "/" + Self.segment($0) }.joined()
    }

    /// The same address with an item at the end of its query; nil adds none.
    func with(_ name: String, _ value: String?) -> ConsoleURL {
        guard let value else { return self }
        var copy = self
        copy.query += (query.isEmpty ? "?" : "&") + Self.encoded(name) + "=" + Self.encoded(value)
        return copy
    }

    /// The same address with an element of the page.
    func fragment(_ id: String) -> ConsoleURL {
        var copy = self
        copy.place = "#" + Self.encoded(id)
        return copy
    }

    var description: String { path + query + place }

    /// Browsers resolve a segment of dots, also when it is encoded, so that it would lead to another page.
    private static func segment(_ text: String) -> String {
        text.isEmpty || text == "." || text == ".." ? "-" : encoded(text)
    }

    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { encoded, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
