import AppStore
import FoundationEssentials

/// The notifications of an app in an environment, in the order of their signatures.
struct PushRecords: Sendable {
    /// A place in the order of the list. Of two records with one date, the first one recorded comes first.
    struct Position: Hashable, Comparable, Sendable {
        var date: Timestamp
        var number: Int

        static func < (left: Position, right: Position) -> Bool {
            left.date == right.date ? left.number < right.number : left.date < right.date
        }
    }

    private var records: [PushRecord] = []
    private var order: [Position] = []
    private var numbers: [UUID: Int] = [:]

    subscript(uuid: UUID) -> PushRecord? { numbers[uuid].map { records[$0] } }

    mutating func append(_ record: PushRecord) {
        let position = Position(date: record.signedDate, number: records.count)
        records.append(record)
        numbers[record.uuid] = position.number
        order.insert(position, at: index(of: position))
    }

    /// The records that history lists at an instant.
    func listed(at now: Timestamp) -> [PushRecord] { order.map { records[$0.number] }.filter { $0.isListed(at: now) } }

    /// Adds an attempt. Returns false when the notification is unknown.
    mutating func append(_ attempt: PushAttempt, to uuid: UUID) -> Bool {
        guard let number = numbers[uuid] else { return false }
        let index = records[number].attempts.firstIndex { $0.date > attempt.date } ?? records[number].attempts.endIndex
        records[number].attempts.insert(attempt, at: index)
        return true
    }

    /// At most `count` records behind a position that satisfy a condition, with dates in a range.
    func page(
        _ count: Int,
        from start: Timestamp,
        until end: Timestamp,
        behind token: Position?,
        datedBy date: SimulatedServerAPI.Options.HistoryDate,
        where condition: (PushRecord) -> Bool
    ) -> [(position: Position, record: PushRecord)] {
        let first = max(token ?? Position(date: start, number: -1), Position(date: start, number: -1))
        let positions: ArraySlice<Position> =
            switch date {
            case .signedDate: order[index(of: first)...]
            case .firstAttempt:
                records.indices.map { Position(date: records[$0].firstDate, number: $0) }.filter { $0.date >= start }.sorted()[...]
            }
        var page: [(position: Position, record: PushRecord)] = []
        for position in positions {
            guard page.count < count, position.date < end else { break }
            if let token, position <= token { continue }
            if condition(records[position.number]) { page.append((position, records[position.number])) }
        }
        return page
    }

    /// The index of the first position that is not before this one.
    private func index(of position: Position) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle] < position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
