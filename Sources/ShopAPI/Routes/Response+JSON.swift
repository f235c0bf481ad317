import AppStore
import HTTPTypes
import Hummingbird
import NIOCore
import StrictJSON

extension Response {
    /// A JSON answer. Caches must not store it: it is current only now, and only for this key.
    static func json(_ object: JSONObject, status: HTTPResponse.Status = .ok, location: String? = nil) -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        headers[.location] = location
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: JSONSerializer.serialize(object)))
        return Response(status: status, headers: headers, body: body)
    }

    /// Status 202 for a stored event that is not settled, with its path.
    static func accepted(_ eventID: Int64) -> Response {
        let path = ClientEvent.path(of: eventID)
        return .json(["event": .string("\(eventID)"), "url": .string(path), "state": "waiting"], status: .accepted, location: path)
    }
}
