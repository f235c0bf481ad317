/// An HTTP response as received.
package struct RawResponse {
    package let status: Int
    /// The header fields, by lower-case name.
    package let headers: [String: String]
    package let body: String

    static func parse(_ text: String, isHead: Bool) -> (RawResponse, Substring)? {
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        let length = isHead ? 0 : headers["content-length"].flatMap { Int($0) } ?? 0
        let rest = text[end.upperBound...]
        guard rest.utf8.count >= length, let status = lines.first?.split(separator: " ")[1], let code = Int(status) else { return nil }
        let bodyEnd = rest.utf8.index(rest.startIndex, offsetBy: length)
        return (RawResponse(status: code, headers: headers, body: String(rest[..<bodyEnd])), rest[bodyEnd...])
    }
}
