import AppStore
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// An answer in JSON, which no cache keeps: it says what was so at that moment, to the holder of a key.
    static func json(_ object: JSONObject, status: HTTPResponse.Status = .ok, location: String? = nil) -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        headers[.location] = location
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: JSONSerializer.serialize(object)))
        return Response(status: status, headers: headers, body: body)
    }
}
