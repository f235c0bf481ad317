/// Follows the server's messages, to know when it has answered a Sync.
struct BackendReader {
    private var head: [UInt8] = []
    private var remaining = 0

    /// Takes the next bytes; says whether a ReadyForQuery ended in them.
    mutating func feed(_ bytes: [UInt8]) -> Bool {
        var isReady = false
        var index = 0
        while index < bytes.count {
            if remaining == 0 {
                head.append(bytes[index])
                index += 1
                guard head.count == 5 else { continue }
                remaining = head.suffix(4).reduce(0) { $0 << 8 | Int($1) } - 4
            } else {
                let count = min(remaining, bytes.count - index)
                index += count
                remaining -= count
            }
            if remaining == 0 {
                isReady = isReady || head[0] == UInt8(ascii: "Z")
                head = []
            }
        }
        return isReady
    }
}
