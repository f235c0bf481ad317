import AppStore
import HTTPServing
import NIOCore
import NIOHTTP1
import StrictJSON

extension Response {
    /// A JSON answer. Caches must not store it: it is current only now, and only for this key.
    static func json(_ object: JSONObject, status: HTTPResponseStatus = .ok, location: String? = nil) -> Response {
        var headers: HTTPHeaders = ["content-type": "application/json", "cache-control": "no-store"]
        if let location { headers.add(name: "location", value: location) }
        return Response(status: status, headers: headers, body: ByteBuffer(bytes: JSONSerializer.serialize(object)))
    }

    /// Status 202 for a stored event that is not settled, with its path.
    static func accepted(_ eventID: Int64) -> Response {
        let path = ClientEvent.path(of: eventID)
        return .json(["event": .string("\(eventID)"), "url": .string(path), "state": "waiting"], status: .accepted, location: path)
    }
}
