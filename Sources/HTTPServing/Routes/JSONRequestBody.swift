import HTTPTypes
package import Hummingbird
package import NIOCore
package import NIOHTTP1

/// The body of a request that must be JSON.
package enum JSONRequestBody {
    /// Reads the bytes of the body without parsing them.
    ///
    /// - Throws: status 415 when the fields do not state uncompressed JSON.
    package static func collect(_ request: Request, maximumBytes: Int) async throws(Problem) -> ByteBuffer {
        try check(contentEncoding: request.headers[.contentEncoding], contentType: request.headers[.contentType])
        return try await bytes(of: request, maximumBytes: maximumBytes)
    }

    /// Checks the header fields of a request.
    ///
    /// - Throws: status 415 when the fields do not state uncompressed JSON.
    package static func check(_ fields: HTTPHeaders) throws(Problem) {
        try check(contentEncoding: fields.first(name: "content-encoding"), contentType: fields.first(name: "content-type"))
    }

    private static func check(contentEncoding: String?, contentType: String?) throws(Problem) {
        guard contentEncoding.map({ $0.lowercased() == "identity" }) ?? true else { throw .contentEncodingRefused }
        guard let contentType, isJSON(contentType) else { throw .unsupportedMediaType }
    }

    /// Reads the body of a request of any media type.
    static func bytes(of request: Request, maximumBytes: Int) async throws(Problem) -> ByteBuffer {
        do {
            // `RequestLimitsHandler` has received the whole body and checked its length.
            return try await request.body.collect(upTo: maximumBytes)
        } catch {
            throw .malformedRequest
        }
    }

    /// True for `application/json`, in any case and with any parameters.
    private static func isJSON(_ mediaType: String) -> Bool {
        let essence = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return essence.elementsEqual("application/json".utf8) { $0 | 0x20 == $1 | 0x20 }
    }
}
