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

    /// Status 202 for what is stored and not settled, with the path of its event.
    static func accepted(_ eventID: Int64) -> Response {
        let path = ClientEvent.path(of: eventID)
        return .json(["event": .string("\(eventID)"), "url": .string(path), "state": "waiting"], status: .accepted, location: path)
    }
}
