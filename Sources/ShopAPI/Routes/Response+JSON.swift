import HTTPServing
import NIOCore
import NIOHTTP1
import StrictJSON

extension Response {
    /// A JSON answer. Caches must not store it: it is current only now, and only for this key.
    static func json(_ object: JSONObject, status: HTTPResponseStatus = .ok, location: String? = nil) -> Response {
        var response = json(ByteBuffer(bytes: JSONSerializer.serialize(object)))
        response.status = status
        if let location { response.headers.add(name: "location", value: location) }
        return response
    }

    /// Status 200 with bytes that are JSON already.
    ///
    /// - Parameter mediaType: a kind of JSON.
    static func json(_ bytes: ByteBuffer, mediaType: String = "application/json") -> Response {
        Response(status: .ok, headers: ["content-type": mediaType, "cache-control": "no-store"], body: bytes)
    }

    /// Status 202 for a stored event that is not settled, with its path.
    static func accepted(_ eventID: Int64) -> Response {
        let path = ClientEvent.path(of: eventID)
        return .json(["event": .string("\(eventID)"), "url": .string(path), "state": "waiting"], status: .accepted, location: path)
    }
}
