import HTML
import HTTPServing
import NIOCore
import NIOHTTP1
import OpenSSL

/// The files that pages refer to. The address of each has a digest of its content, so that browsers keep it for ever.
struct Assets: Sendable {
    struct File: Sendable {
        let url: ConsoleURL
        let path: String
        let tag: String
        let mediaType: String
        let bytes: [UInt8]

        fileprivate init(_ name: String, _ mediaType: String, _ bytes: [UInt8]) {
            let digest = Digest.sha256(bytes).prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let file = "\(digest)-\(name)"
            url = ConsoleURL("assets", file)
            path = "/assets/\(file)"
            tag = "\"\(digest)\""
            (self.mediaType, self.bytes) = (mediaType, bytes)
        }

        /// The file, or status 304 where the browser has it.
        func answer(_ request: Request) -> Response {
            let headers: HTTPHeaders = [
                "content-type": mediaType, "etag": tag, "cache-control": "public, max-age=31536000, immutable",
            ]
            let known = request.field("if-none-match")?.split(separator: ",").contains { $0.drop { $0 == " " } == tag } ?? false
            return known
                ? Response(status: .notModified, headers: headers) : Response(status: .ok, headers: headers, body: ByteBuffer(bytes: bytes))
        }
    }

    let styles = File("console.css", "text/css; charset=utf-8", EmbeddedFiles.console_css)
    let script = File("console.js", "text/javascript; charset=utf-8", EmbeddedFiles.console_js)
    let icon = File("console.svg", "image/svg+xml", EmbeddedFiles.console_svg)

    var all: [File] { [styles, script, icon] }
}
