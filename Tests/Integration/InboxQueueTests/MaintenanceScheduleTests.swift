import Testing

@testable import InboxQueue

/// When which task of maintenance comes.
struct MaintenanceScheduleTests {
    /// Always the same number. Zero is not among them: an unbiased draw from a range would refuse it for ever.
    private struct Constant: RandomNumberGenerator {
        let number: UInt64
        mutating func next() -> UInt64 { number }

        static let least = Constant(number: 1)
        static let greatest = Constant(number: .max)
    }

    private let start = ContinuousClock.now

    /// How long `task` rests after that many endings of one kind.
    private func rests(_ task: MaintenanceTask, _ ending: MaintenanceSchedule.Ending, times: Int, _ generator: Constant) -> [Duration] {
        var generator = generator
        var schedule = MaintenanceSchedule(now: start, using: &generator)
        return (0..<times).map { _ in
            schedule.ended(task, ending, at: start, using: &generator)
            // All others are far away, so that this one is next.
            for other in MaintenanceTask.allCases where other != task {
                schedule.ended(other, .moreToDo, at: start + .seconds(100_000), using: &generator)
            }
            #expect(schedule.next.task == task)
            return start.duration(to: schedule.next.at)
        }
    }

    @Test func `each task comes within five seconds of the start, and workers that start together spread`() {
        for (generator, latest) in [(Constant.least, Duration.zero), (.greatest, .seconds(5))] {
            var generator = generator
            let schedule = MaintenanceSchedule(now: start, using: &generator)
            #expect(start.duration(to: schedule.next.at) <= latest)
        }
    }

    @Test(arguments: MaintenanceTask.allCases)
    func `a task with more to do comes again after its pause`(task: MaintenanceTask) {
        #expect(rests(task, .moreToDo, times: 3, .greatest) == Array(repeating: MaintenanceTask.pause, count: 3))
    }

    @Test(arguments: MaintenanceTask.allCases)
    func `a task without work rests longer and longer, up to its limit, and half of it at random`(task: MaintenanceTask) {
        let longest = rests(task, .nothingToDo, times: 20, .greatest)
        #expect(longest.first == MaintenanceTask.pause * 2)
        #expect(longest.last == task.longestRest)
        #expect(zip(longest, longest.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(rests(task, .nothingToDo, times: 20, .least).last == task.longestRest / 2)
    }

    @Test func `a task that finds others in the way lets them go first, for longer and longer`() {
        #expect(rests(.ageCalls, .inTheWay, times: 4, .greatest) == [.seconds(5), .seconds(10), .seconds(20), .seconds(30)])
        let drops = rests(.dropPartition, .inTheWay, times: 12, .greatest)
        #expect(drops.prefix(3) == [.seconds(5), .seconds(10), .seconds(20)])
        #expect(drops.last == .seconds(300))
    }

    @Test func `work shortens the rest again`() {
        var generator = Constant.greatest
        var schedule = MaintenanceSchedule(now: start, using: &generator)
        for _ in 0..<20 { schedule.ended(.dropPartition, .nothingToDo, at: start, using: &generator) }
        for task in MaintenanceTask.allCases where task != .dropPartition {
            schedule.ended(task, .nothingToDo, at: start + .seconds(100_000), using: &generator)
        }
        schedule.ended(.dropPartition, .moreToDo, at: start, using: &generator)
        #expect(schedule.next.at == start + MaintenanceTask.pause)
    }
}
