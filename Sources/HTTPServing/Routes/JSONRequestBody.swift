import HTTPTypes
package import Hummingbird
package import NIOCore

/// The body of a request that must be JSON.
package enum JSONRequestBody {
    /// The bytes of the body, nothing of them parsed yet.
    ///
    /// - Throws: status 415 when the fields do not say that it is plain JSON.
    package static func collect(_ request: Request, maximumBytes: Int) async throws(Problem) -> ByteBuffer {
        let headers = request.headers
        guard headers[.contentEncoding].map({ $0.lowercased() == "identity" }) ?? true else { throw .contentEncodingRefused }
        guard let mediaType = headers[.contentType], isJSON(mediaType) else { throw .unsupportedMediaType }
        do {
            // The connection has checked the length already, and the body is here as a whole.
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
