import Postgres
import StrictJSON

/// A range of the feed that an endpoint gets again.
struct Redelivery: Hashable, Sendable {
    let number: Int64
    /// open, done, stopped, or aged: entries were gone before they were sent.
    let state: String
    /// Up to where it has come.
    let position: Int64
    let upto: Int64
    let sent: Int64

    init(_ row: Row) throws {
        number = try row.decode("redelivery_id")
        state = try row.decode("state")
        position = try row.decode("after")
        upto = try row.decode("upto")
        sent = try row.decode("sent")
    }

    var json: JSONObject {
        [
            "state": .string(state), "redelivery": .integer(number), "position": .integer(position), "upto": .integer(upto),
            "sent": .integer(sent),
        ]
    }

    var words: String {
        state == "open" ? "\(sent) sent, at position \(position) of \(upto)" : "\(state), \(sent) sent"
    }
}
