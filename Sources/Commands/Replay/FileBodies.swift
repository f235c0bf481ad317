import AppStore
import StrictJSON

/// The bodies in a file: the whole file is one JSON object, or each line is one. Lines are read one at a time.
struct FileBodies: ReplayBodies {
    /// The largest body that the inbox takes.
    static let limit = 4 << 20

    private let startLine: Int
    private var reader: FileLines
    private var state = State.unread

    private enum State {
        case unread, lines, ended
    }

    /// - Parameters:
    ///   - path: `-` for standard input.
    ///   - startLine: the first line to hand out.
    init(path: String, startLine: Int) throws(InputFile.Unreadable) {
        reader = try FileLines(path: path, limit: Self.limit)
        self.startLine = startLine
    }

    mutating func next() async throws -> ReplayItem? {
        if state == .unread {
            state = .lines
            if let whole = try await reader.wholeFile(), Self.isObject(whole) {
                state = .ended
                return startLine <= 1 ? ReplayItem(origin: .line(1), content: Self.content(of: whole)) : nil
            }
        }
        while state == .lines, let line = try await reader.next() {
            guard line.number >= startLine, line.isTooLong || !line.bytes.isEmpty else { continue }
            if line.isTooLong {
                return ReplayItem(origin: .line(line.number), content: .none(reason: "longer than \(Self.limit) bytes"))
            }
            return ReplayItem(origin: .line(line.number), content: Self.content(of: line.bytes))
        }
        return nil
    }

    /// A body that ingest would refuse is not posted.
    private static func content(of bytes: [UInt8]) -> ReplayItem.Content {
        do throws(NotificationBody.Refusal) {
            _ = try NotificationBody.signedPayload(in: bytes)
            return .body(bytes, as: .notificationV2)
        } catch {
            return legacyContent(of: bytes) ?? .none(reason: "no notification: \(error.rawValue)")
        }
    }

    /// Nil when the body is not a notification V1. One from the inbox has no secret, so that ingest would refuse it.
    private static func legacyContent(of bytes: [UInt8]) -> ReplayItem.Content? {
        do throws(NotificationV1Body.Refusal) {
            let notification = try NotificationV1Body(bytes)
            guard notification.kind == .notificationV1 else { return nil }
            guard notification.secrets.contains(where: { !$0.isEmpty }) else {
                return .none(
                    reason: "a notification V1 without its shared secret, as the inbox keeps it: use appstore.requeue_event with its event"
                )
            }
            return .body(bytes, as: .notificationV1)
        } catch {
            return nil
        }
    }

    private static func isObject(_ bytes: [UInt8]) -> Bool {
        do throws(JSONSyntaxError) {
            _ = try JSONParser().parseObject(bytes)
            return true
        } catch {
            return false
        }
    }
}
