"""What the machine of the workers can do, as one of them finds out: the server has no networks to try it with."""

from dataclasses import asdict

from studio.executors.job import Job


def check_up(job: Job) -> None:
    """Try each part of a conversion for real, and end the task with what was found."""
    from studio.doctor import examine

    found = []
    for finding in examine():
        found.append(asdict(finding))
        job.heart.report(0.0, finding.subject)
    job.publish({"findings": found})
