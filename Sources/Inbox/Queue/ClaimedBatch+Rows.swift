import Postgres

/// What the statements of a batch return.
extension ClaimedBatch {
    /// Claimed events, without what the inbox has of them.
    static func events(_ rows: Rows) throws -> [ClaimedEvent] {
        try rows.map { row in
            ClaimedEvent(
                eventID: try row.decode("event_id"),
                claimedAt: try row.decode("claimed_at"),
                attempts: Int(try row.decode("attempts", as: Int16.self)),
                run: try row.decode("run")
            )
        }
    }

    /// The same for statements that return deaths, too.
    static func suspects(_ rows: Rows) throws -> [ClaimedEvent] {
        try zip(events(rows), rows).map { event, row in
            var suspect = event
            suspect.deaths = Int(try row.decode("deaths", as: Int16.self))
            suspect.hasToStayAlone = try row.decode("has_to_stay_alone")
            return suspect
        }
    }

    /// Those of claimed events that the inbox still has, in their order, with their bodies. The others are released with the transaction.
    static func events(_ keys: [ClaimedEvent], with bodies: Rows) throws -> [ClaimedEvent] {
        var indices: [Int64: Int] = [:]
        for (index, row) in bodies.enumerated() { indices[try row.decode("event_id")] = index }
        return try keys.compactMap { key in
            guard let index = indices[key.eventID] else { return nil }
            let row = bodies[index]
            return key.with(source: try row.decode("source"), receivedAt: try row.decode("received_at"), body: try row.decode("body"))
        }
    }

    /// Behind the last of them.
    static func end(_ rows: Rows) throws -> QueuePosition? {
        guard let row = rows.last else { return nil }
        return QueuePosition(runAt: try row.decode("run_at"), eventID: try row.decode("event_id", as: Int64.self) + 1)
    }

    static func probe(_ rows: Rows, _ look: LowWaterMark.Look) throws -> LowWaterMark.Probe {
        let row = rows[0]
        var probe = LowWaterMark.Probe(
            from: look.from,
            serverStart: try row.decode("server_start"),
            at: try row.decode("probed_at"),
            xmin: try row.decode("xmin"),
            xid: try row.decode("xid")
        )
        probe.duration = .microseconds(
            try row.decode("ended_at", as: PostgresTimestamp.self).microsecondsSince2000 - probe.at.microsecondsSince2000
        )
        if let runAt = try row.decode("run_at", as: PostgresTimestamp?.self) {
            probe.first = QueuePosition(runAt: runAt, eventID: try row.decode("event_id"))
        }
        return probe
    }
}
