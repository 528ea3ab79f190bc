// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab_disk: block devices in memory whose requests take the time that a disk would, counted by the kernel's own clock.
 *
 * A virtual host that counts instructions (QEMU -icount) lives in a time of its own. A disk outside of it is served in the time of the world
 * and so takes a different time at each repetition; this one does not.
 *
 * What it models: positioning (seek by the square root of the distance, rotation by the angle at that moment), transfer, several servers,
 * a command queue from which the nearest request is taken unless another one has waited for too long, sequential reads from a read-ahead
 * buffer, and the cost of a flush. What it leaves out is in docs/virtual-clock.md.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/xarray.h>

#define MAX_DISKS	16
#define MAX_SERVERS	64

/* A request that waited for so long is served next, however far it is: no command starves. */
#define AGE_LIMIT_NS	(2ULL * NSEC_PER_SEC)

static char *serial[MAX_DISKS];
static int disks;
module_param_array(serial, charp, &disks, 0444);
MODULE_PARM_DESC(serial, "serial number of each disk; so many disks are made");

#define PER_DISK(name, what)						\
	static unsigned int name[MAX_DISKS];				\
	module_param_array(name, uint, NULL, 0444);			\
	MODULE_PARM_DESC(name, what)

PER_DISK(size_mb, "MiB of each disk");
PER_DISK(rotational, "1 if it rotates");
PER_DISK(depth, "commands that it looks at together (default 32)");
PER_DISK(servers, "requests that it serves at the same time (default 1)");
PER_DISK(read_us, "microseconds of a read besides positioning and transfer");
PER_DISK(write_us, "microseconds of a write besides positioning and transfer");
PER_DISK(flush_us, "microseconds of a flush");
PER_DISK(seek_min_us, "microseconds of the shortest seek");
PER_DISK(seek_max_us, "microseconds of a seek over the whole disk");
PER_DISK(turn_us, "microseconds of a revolution; 0 for none");
PER_DISK(track_kb, "KiB of a track (default 1024)");
PER_DISK(rate_mb_s, "MB (10^6 bytes) transferred in a second (default 200)");

struct lab_disk;

struct server {
	struct lab_disk *disk;
	struct request *rq;
	struct hrtimer timer;
};

struct lab_disk {
	int index;
	struct blk_mq_tag_set tags;
	struct gendisk *gendisk;
	struct xarray pages;

	spinlock_t lock;	/* of everything below */
	struct list_head waiting;
	struct server *servers;
	u64 head;		/* byte behind the last request */
	u64 epoch_ns;		/* when the platter was at angle 0 */
	u64 seed;
	u64 reads, writes, flushes, bytes, busy_ns;
};

struct command {
	struct list_head entry;
	u64 since_ns;
};

static struct lab_disk *lab_disks[MAX_DISKS];
static int major;

static u64 size_bytes(struct lab_disk *disk)
{
	return (u64)size_mb[disk->index] << 20;
}

/* splitmix64: neighbouring seeds give unrelated numbers. */
static u64 mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Back to the state that a seed stands for: the angle of the platter, and the place of the head. */
static void lab_disk_reset(struct lab_disk *disk, u64 seed)
{
	u64 turn_ns = (u64)turn_us[disk->index] * NSEC_PER_USEC;
	u64 phase = 0;

	if (turn_ns)
		div64_u64_rem(mix(seed), turn_ns, &phase);
	disk->seed = seed;
	disk->head = 0;
	disk->epoch_ns = ktime_get_ns() - phase;
	disk->reads = disk->writes = disk->flushes = disk->bytes = disk->busy_ns = 0;
}

/* Time until the arm is over the first byte and the byte is under the head. */
static u64 positioning_ns(struct lab_disk *disk, u64 byte, u64 now_ns)
{
	int i = disk->index;
	u64 distance = byte > disk->head ? byte - disk->head : disk->head - byte;
	u64 turn_ns = (u64)turn_us[i] * NSEC_PER_USEC;
	u64 track = (u64)track_kb[i] << 10;
	u64 ns = 0, angle_ns, in_track, there_ns;

	if (!turn_ns)
		return 0;
	if (distance >= track) {
		/* sqrt(distance / size) in units of 1/1024. */
		u64 share = int_sqrt64(div64_u64(distance << 20, size_bytes(disk)));

		ns = (u64)seek_min_us[i] * NSEC_PER_USEC +
		     (((u64)(seek_max_us[i] - seek_min_us[i]) * NSEC_PER_USEC * share) >> 10);
	}
	div64_u64_rem(byte, track, &in_track);
	angle_ns = div64_u64(in_track * turn_ns, track);
	div64_u64_rem(now_ns + ns - disk->epoch_ns, turn_ns, &there_ns);
	return ns + (angle_ns >= there_ns ? angle_ns - there_ns : angle_ns + turn_ns - there_ns);
}

static bool is_sequential_read(struct lab_disk *disk, struct request *rq)
{
	return req_op(rq) == REQ_OP_READ && (blk_rq_pos(rq) << SECTOR_SHIFT) == disk->head;
}

static u64 service_ns(struct lab_disk *disk, struct request *rq, u64 now_ns)
{
	int i = disk->index;
	u64 bytes = blk_rq_bytes(rq);
	u64 ns;

	if (req_op(rq) == REQ_OP_FLUSH)
		return (u64)flush_us[i] * NSEC_PER_USEC;
	ns = (u64)(op_is_write(req_op(rq)) ? write_us[i] : read_us[i]) * NSEC_PER_USEC;
	/* What follows was read ahead into the buffer. */
	if (!is_sequential_read(disk, rq))
		ns += positioning_ns(disk, blk_rq_pos(rq) << SECTOR_SHIFT, now_ns);
	return ns + div64_u64(bytes * 1000, rate_mb_s[i]);
}

/* The request that is reached first, unless one has waited for too long. */
static struct request *nearest(struct lab_disk *disk, u64 now_ns)
{
	struct command *cmd, *best = NULL;
	u64 best_ns = U64_MAX;

	list_for_each_entry(cmd, &disk->waiting, entry) {
		u64 ns;

		if (now_ns - cmd->since_ns > AGE_LIMIT_NS) {
			best = cmd;
			break;
		}
		ns = service_ns(disk, blk_mq_rq_from_pdu(cmd), now_ns);
		if (ns < best_ns) {
			best_ns = ns;
			best = cmd;
		}
	}
	if (!best)
		return NULL;
	list_del_init(&best->entry);
	return blk_mq_rq_from_pdu(best);
}

/* Gives every free server something to do. */
static void pump(struct lab_disk *disk)
{
	unsigned int n;

	lockdep_assert_held(&disk->lock);
	for (n = 0; n < servers[disk->index]; n++) {
		struct server *server = &disk->servers[n];
		u64 now_ns = ktime_get_ns();
		u64 ns;

		if (server->rq)
			continue;
		server->rq = nearest(disk, now_ns);
		if (!server->rq)
			return;
		ns = service_ns(disk, server->rq, now_ns);
		if (req_op(server->rq) != REQ_OP_FLUSH)
			disk->head = (blk_rq_pos(server->rq) << SECTOR_SHIFT) + blk_rq_bytes(server->rq);
		disk->busy_ns += ns;
		hrtimer_start(&server->timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
	}
}

static enum hrtimer_restart served(struct hrtimer *timer)
{
	struct server *server = container_of(timer, struct server, timer);
	struct lab_disk *disk = server->disk;
	struct request *rq;
	unsigned long flags;

	spin_lock_irqsave(&disk->lock, flags);
	rq = server->rq;
	server->rq = NULL;
	pump(disk);
	spin_unlock_irqrestore(&disk->lock, flags);
	blk_mq_end_request(rq, BLK_STS_OK);
	return HRTIMER_NORESTART;
}

/* The page that holds a byte; made for a write, none for a read of what was never written. */
static struct page *page_of(struct lab_disk *disk, u64 byte, bool is_write)
{
	unsigned long index = byte >> PAGE_SHIFT;
	struct page *page = xa_load(&disk->pages, index);
	struct page *old;

	if (page || !is_write)
		return page;
	page = alloc_page(GFP_NOIO | __GFP_ZERO | __GFP_HIGHMEM);
	if (!page)
		return NULL;
	old = xa_cmpxchg(&disk->pages, index, NULL, page, GFP_NOIO);
	if (old) {
		__free_page(page);
		return xa_is_err(old) ? NULL : old;
	}
	return page;
}

static blk_status_t copy(struct lab_disk *disk, struct request *rq)
{
	bool is_write = op_is_write(req_op(rq));
	u64 byte = blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		unsigned int done = 0;

		while (done < bvec.bv_len) {
			unsigned int in_page = offset_in_page(byte);
			unsigned int len = min_t(unsigned int, bvec.bv_len - done, PAGE_SIZE - in_page);
			struct page *page = page_of(disk, byte, is_write);

			if (is_write) {
				if (!page)
					return BLK_STS_RESOURCE;
				memcpy_page(page, in_page, bvec.bv_page, bvec.bv_offset + done, len);
			} else if (page) {
				memcpy_page(bvec.bv_page, bvec.bv_offset + done, page, in_page, len);
			} else {
				memzero_page(bvec.bv_page, bvec.bv_offset + done, len);
			}
			done += len;
			byte += len;
		}
	}
	return BLK_STS_OK;
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct lab_disk *disk = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct command *cmd = blk_mq_rq_to_pdu(rq);
	unsigned long flags;
	blk_status_t status;

	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		status = copy(disk, rq);
		if (status != BLK_STS_OK)
			return status;
		break;
	case REQ_OP_FLUSH:
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	blk_mq_start_request(rq);
	cmd->since_ns = ktime_get_ns();
	spin_lock_irqsave(&disk->lock, flags);
	switch (req_op(rq)) {
	case REQ_OP_READ:
		disk->reads++;
		break;
	case REQ_OP_WRITE:
		disk->writes++;
		break;
	default:
		disk->flushes++;
		break;
	}
	disk->bytes += blk_rq_bytes(rq);
	list_add_tail(&cmd->entry, &disk->waiting);
	pump(disk);
	spin_unlock_irqrestore(&disk->lock, flags);
	return BLK_STS_OK;
}

static int init_command(struct blk_mq_tag_set *set, struct request *rq, unsigned int hctx, unsigned int node)
{
	struct command *cmd = blk_mq_rq_to_pdu(rq);

	INIT_LIST_HEAD(&cmd->entry);
	return 0;
}

static const struct blk_mq_ops lab_disk_mq_ops = {
	.queue_rq = queue_rq,
	.init_request = init_command,
};

static const struct block_device_operations lab_disk_ops = {
	.owner = THIS_MODULE,
};

static struct lab_disk *of_device(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static ssize_t serial_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", serial[of_device(dev)->index]);
}
static DEVICE_ATTR_RO(serial);

static ssize_t seed_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", of_device(dev)->seed);
}

static ssize_t seed_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct lab_disk *disk = of_device(dev);
	unsigned long flags;
	u64 seed;
	int err = kstrtou64(buf, 10, &seed);

	if (err)
		return err;
	spin_lock_irqsave(&disk->lock, flags);
	lab_disk_reset(disk, seed);
	spin_unlock_irqrestore(&disk->lock, flags);
	return count;
}
static DEVICE_ATTR_RW(seed);

/* Since the last seed: reads, writes, flushes, bytes, nanoseconds of all servers. */
static ssize_t served_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct lab_disk *disk = of_device(dev);

	return sysfs_emit(buf, "%llu %llu %llu %llu %llu\n", disk->reads, disk->writes, disk->flushes, disk->bytes,
			  disk->busy_ns);
}
static DEVICE_ATTR_RO(served);

static struct attribute *lab_disk_attrs[] = {
	&dev_attr_serial.attr,
	&dev_attr_seed.attr,
	&dev_attr_served.attr,
	NULL,
};
ATTRIBUTE_GROUPS(lab_disk);

static void free_pages_of(struct lab_disk *disk)
{
	unsigned long index;
	struct page *page;

	xa_for_each(&disk->pages, index, page)
		__free_page(page);
	xa_destroy(&disk->pages);
}

static struct gendisk *alloc_gendisk(struct lab_disk *disk)
{
	bool rotates = rotational[disk->index];
	struct gendisk *gendisk;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	struct queue_limits limits = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = PAGE_SIZE,
		.features = BLK_FEAT_WRITE_CACHE | (rotates ? BLK_FEAT_ROTATIONAL : 0),
	};

	gendisk = blk_mq_alloc_disk(&disk->tags, &limits, disk);
#else
	gendisk = blk_mq_alloc_disk(&disk->tags, disk);
	if (IS_ERR(gendisk))
		return gendisk;
	blk_queue_logical_block_size(gendisk->queue, SECTOR_SIZE);
	blk_queue_physical_block_size(gendisk->queue, PAGE_SIZE);
	blk_queue_write_cache(gendisk->queue, true, false);
	if (!rotates)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, gendisk->queue);
#endif
	return gendisk;
}

static void lab_disk_free(struct lab_disk *disk)
{
	if (disk->gendisk) {
		del_gendisk(disk->gendisk);
		put_disk(disk->gendisk);
	}
	if (disk->tags.ops)
		blk_mq_free_tag_set(&disk->tags);
	free_pages_of(disk);
	kfree(disk->servers);
	kfree(disk);
}

static void with_defaults(int i)
{
	if (!size_mb[i])
		size_mb[i] = 1024;
	if (!depth[i])
		depth[i] = 32;
	if (!servers[i])
		servers[i] = 1;
	if (!track_kb[i])
		track_kb[i] = 1024;
	if (!rate_mb_s[i])
		rate_mb_s[i] = 200;
}

static int lab_disk_make(int index)
{
	struct lab_disk *disk;
	unsigned int n;
	int err;

	with_defaults(index);
	if (servers[index] > MAX_SERVERS || depth[index] > BLK_MQ_MAX_DEPTH || seek_max_us[index] < seek_min_us[index])
		return -EINVAL;
	disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	if (!disk)
		return -ENOMEM;
	disk->index = index;
	xa_init(&disk->pages);
	spin_lock_init(&disk->lock);
	INIT_LIST_HEAD(&disk->waiting);
	disk->servers = kcalloc(servers[index], sizeof(*disk->servers), GFP_KERNEL);
	err = -ENOMEM;
	if (!disk->servers)
		goto fail;
	for (n = 0; n < servers[index]; n++) {
		disk->servers[n].disk = disk;
		hrtimer_init(&disk->servers[n].timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
		disk->servers[n].timer.function = served;
	}
	lab_disk_reset(disk, 1);

	disk->tags.ops = &lab_disk_mq_ops;
	disk->tags.nr_hw_queues = 1;
	disk->tags.queue_depth = depth[index];
	disk->tags.numa_node = NUMA_NO_NODE;
	disk->tags.cmd_size = sizeof(struct command);
	/* Pages are allocated for writes, which may have to wait for memory. */
	disk->tags.flags = BLK_MQ_F_SHOULD_MERGE | BLK_MQ_F_BLOCKING;
	err = blk_mq_alloc_tag_set(&disk->tags);
	if (err) {
		disk->tags.ops = NULL;
		goto fail;
	}
	disk->gendisk = alloc_gendisk(disk);
	if (IS_ERR(disk->gendisk)) {
		err = PTR_ERR(disk->gendisk);
		disk->gendisk = NULL;
		goto fail;
	}
	disk->gendisk->major = major;
	disk->gendisk->first_minor = index;
	disk->gendisk->minors = 1;
	disk->gendisk->flags |= GENHD_FL_NO_PART;
	disk->gendisk->fops = &lab_disk_ops;
	disk->gendisk->private_data = disk;
	snprintf(disk->gendisk->disk_name, DISK_NAME_LEN, "labdisk%d", index);
	set_capacity(disk->gendisk, size_bytes(disk) >> SECTOR_SHIFT);
	err = device_add_disk(NULL, disk->gendisk, lab_disk_groups);
	if (err) {
		put_disk(disk->gendisk);
		disk->gendisk = NULL;
		goto fail;
	}
	lab_disks[index] = disk;
	return 0;
fail:
	lab_disk_free(disk);
	return err;
}

static void lab_disk_exit(void)
{
	int i;

	for (i = 0; i < MAX_DISKS; i++)
		if (lab_disks[i])
			lab_disk_free(lab_disks[i]);
	unregister_blkdev(major, "labdisk");
}

static int __init lab_disk_init(void)
{
	int i, err;

	major = register_blkdev(0, "labdisk");
	if (major < 0)
		return major;
	for (i = 0; i < disks; i++) {
		err = lab_disk_make(i);
		if (err) {
			lab_disk_exit();
			return err;
		}
	}
	return 0;
}

module_init(lab_disk_init);
module_exit(lab_disk_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Disks in memory that take the time of a model, for measurements under a virtual clock");
